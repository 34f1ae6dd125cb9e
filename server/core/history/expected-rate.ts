import { lowerMedianOf } from "#protocol/base/robust.ts";
import type { Hub } from "../api/hub.ts";
import { stateOf, type LiveNode } from "../live/live-node.ts";
import type { Way } from "../api/ports/history.ts";

export interface ExpectedRate {
  bytesPerSecond: number;
  /** The measurements behind the estimate. */
  basis: "transfers" | "live" | "probe" | "neighbours";
}

/** Factor from a probe's rate to a transfer's: a transfer also ramps up and winds down. */
const OF_A_PROBE = 0.9;
const LEAST_NEIGHBOURS = 3;

/**
 * Returns the rate to expect of a transfer between this node and this bucket, bytes per second; null when nothing is known.
 * The first source with a value counts: the median of the last five transfers in this direction, the live download rate, the
 * last probe. A lower median keeps one slow or fast transfer from deciding the estimate.
 */
export function expectedRate(hub: Pick<Hub, "history" | "live">, about: Way): ExpectedRate | null {
  const { rates } = hub.history;
  const node = hub.live.nodes.get(about.nodeId);
  const own = lowerMedianOf(rates.transfers(about));
  if (own !== null) return { bytesPerSecond: own, basis: "transfers" };
  const isOfProfile = node !== undefined && node.profileId === about.profileId;
  const live = isOfProfile && about.direction === "download" ? node.downBytesPerSecond : null;
  if (live !== null) return { bytesPerSecond: live, basis: "live" };
  const probed = rates.probe(about);
  if (probed !== null) return { bytesPerSecond: probed * OF_A_PROBE, basis: "probe" };
  return null;
}

/**
 * Returns the rate to expect of a node without history of its own; null with fewer than three neighbours. The rate is the
 * lower median over nodes with the same bucket. Callers compute it once for a list of nodes.
 */
export function expectedOfNeighbours(
  hub: Pick<Hub, "history" | "live">,
  about: Omit<Way, "nodeId">,
): ExpectedRate | null {
  const isPresent = (node: LiveNode) => node.profileId === about.profileId && stateOf(node) !== "revoked";
  const known = [...hub.live.nodes.values()].filter(isPresent).flatMap((node) => {
    const rate = lowerMedianOf(hub.history.rates.transfers({ ...about, nodeId: node.id }));
    return rate === null ? [] : [rate];
  });
  const middle = known.length < LEAST_NEIGHBOURS ? null : lowerMedianOf(known);
  return middle === null ? null : { bytesPerSecond: middle, basis: "neighbours" };
}

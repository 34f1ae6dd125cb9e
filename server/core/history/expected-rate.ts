import { lowerMedianOf } from "#protocol/base/robust.ts";
import type { Hub } from "../api/hub.ts";
import { stateOf, type LiveNode } from "../live/live-node.ts";
import type { Way } from "../api/ports/history.ts";

export interface ExpectedRate {
  bytesPerSecond: number;
  /** What it is drawn from. */
  basis: "transfers" | "live" | "probe" | "neighbours";
}

/** A transfer has a beginning and an end that a probe does not have. */
const OF_A_PROBE = 0.9;
const LEAST_NEIGHBOURS = 3;

/**
 * The rate at which a transfer of this node with this bucket may be expected to go, bytes per second: the median of its last
 * five transfers that way (of an even number the lower one), because one that met a busy neighbour says little; else what its
 * reports showed while it moved; else what its probe found; else the median of at least three nodes with the same bucket.
 * Null when there is nothing to draw on.
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
 * What is expected of a node that has no history of its own: the median of the others with the same bucket. Computed once for
 * a list of nodes.
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

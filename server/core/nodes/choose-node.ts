import { isExpected } from "#protocol/fleet/node-status.ts";
import { isEnded } from "#protocol/wire/transfer.ts";
import { expectedRate } from "../history/expected-rate.ts";
import type { Hub } from "../api/hub.ts";
import { stateOf, type LiveNode } from "../live/live-node.ts";

/** Factor of disk space that a restore needs beyond the files themselves. */
const HEADROOM = 1.05;

/** Returns the free bytes that a node must have for a checkpoint of `sizeBytes`. */
export const neededBytes = (sizeBytes: number): number => Math.ceil(sizeBytes * HEADROOM);

/** Returns the nodes with a transfer that has not ended, whether moving or waiting. */
function busyNodes(hub: Hub): ReadonlySet<string> {
  const busy = new Set<string>();
  for (const { row } of hub.live.transfers.values()) if (!isEnded(row.state)) busy.add(row.nodeId);
  return busy;
}

const backlogOf = ({ report }: LiveNode): number =>
  (report?.runs ?? []).reduce((sum, { unsafeCheckpoints }) => sum + unsafeCheckpoints, 0);

/**
 * Returns online nodes with nothing of their own to move, the fastest first. `roomBytes` is the free disk space they need; a
 * node that does not report its disk passes.
 */
export function idleNodes(
  hub: Hub,
  wanted: {
    profileId: string;
    roomBytes: number;
    /** Profiles whose nodes qualify; default: `profileId` alone. */
    from?: ReadonlySet<string>;
  },
): LiveNode[] {
  const from = wanted.from ?? new Set([wanted.profileId]);
  const busy = busyNodes(hub);
  const rateOf = (node: LiveNode) =>
    expectedRate(hub, { nodeId: node.id, profileId: wanted.profileId, direction: "download" })?.bytesPerSecond ?? 0;
  return [...hub.live.nodes.values()]
    .filter(
      (node) =>
        from.has(node.profileId) &&
        isExpected(stateOf(node)) &&
        node.mailboxes.size > 0 &&
        !busy.has(node.id) &&
        backlogOf(node) === 0 &&
        (node.report?.disk == null || node.report.disk.freeBytes >= wanted.roomBytes),
    )
    .map((node) => ({ node, rate: rateOf(node) }))
    .toSorted((a, b) => b.rate - a.rate || (a.node.name < b.node.name ? -1 : 1))
    .map(({ node }) => node);
}

/** Returns a node for a task that can wait there: an idle one, else any online one; null when there is none. */
export const anyNode = (hub: Hub, about: { profileId: string; from: ReadonlySet<string> }): LiveNode | null =>
  idleNodes(hub, { ...about, roomBytes: 0 })[0] ??
  [...hub.live.nodes.values()].find((node) => about.from.has(node.profileId) && isExpected(stateOf(node))) ??
  null;

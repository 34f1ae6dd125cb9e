import { isExpected } from "#protocol/fleet/node-status.ts";
import { isEnded } from "#protocol/wire/transfer.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { isAdoptedRow } from "#server/core/runs/is-adopted.ts";
import { doubtfulAfter, newestComplete } from "#server/core/runs/newest.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { stateOf } from "#server/core/live/live-node.ts";
import { newId } from "#server/platform/random-id.ts";
import { askCheck } from "#server/core/transfers/ask-check.ts";
import { idleNodes, neededBytes } from "#server/core/nodes/choose-node.ts";
import { homesOf, profilesFor } from "#server/core/profiles/homes-of.ts";
import { awayFor } from "#server/core/runs/note-away.ts";

/**
 * The node that wrote a checkpoint copies it to the run's other buckets from its own disk. If the node is gone, or a replica
 * was configured later, an idle node copies the newest checkpoint of the run between buckets, then a later doubtful one. Each
 * run has one copy at a time; work that is impossible now is retried at the next tick.
 */

/** How long the copy is left to the node that wrote the checkpoint. */
const LEFT_TO_WRITER_MS = 5 * 60_000;
/** A failed copy is not repeated within this time. */
const AFTER_FAILURE_MS = 3_600_000;
const VALID_MS = 600_000;

const isHeard = (hub: Hub, nodeId: string): boolean => {
  const node = hub.live.nodes.get(nodeId);
  return node !== undefined && isExpected(stateOf(node));
};

/** Returns whether the node that wrote the checkpoint is expected to copy it. */
const isLeftToWriter = (hub: Hub, { nodeId, committedAt }: Checkpoint): boolean =>
  isHeard(hub, nodeId) && hub.now() - (committedAt?.getTime() ?? 0) < LEFT_TO_WRITER_MS;

/** Returns whether a copy is in progress, or failed recently. */
async function isUnderWay(hub: Hub, checkpoint: Checkpoint): Promise<boolean> {
  for (const { row } of hub.live.transfers.values()) {
    const isCopy = row.direction === "copy" && row.checkpointId === checkpoint.id;
    if (isCopy && !isEnded(row.state) && isHeard(hub, row.nodeId)) return true;
  }
  const since = new Date(hub.now() - AFTER_FAILURE_MS);
  const lately = { checkpointId: checkpoint.id, direction: "copy", state: "failed", endedAt: { gte: since } };
  return (await hub.db.transfer.count({ where: lately })) > 0;
}

/** Returns the next bucket for a copy; null when there are enough copies, as far as buckets are reachable. */
async function nextHome(hub: Hub, checkpoint: Checkpoint): Promise<string | null> {
  const of = await homesOf(hub.db, checkpoint.run);
  if (of === null || of.copies < 2) return null;
  const copies = await hub.db.checkpointCopy.findMany({
    where: { checkpointId: checkpoint.id, state: "complete" },
    select: { profileId: true },
  });
  const there = new Set([checkpoint.profileId, ...copies.map(({ profileId }) => profileId)]);
  if (there.size >= of.copies) return null;
  const sealing = await hub.db.profile.findMany({ where: { id: { in: of.profileIds }, sealing: { not: "off" } } });
  // An unencrypted checkpoint does not go into a bucket that demands encryption.
  const isClosed = (id: string) => checkpoint.sealKeyId === null && sealing.some((row) => row.id === id);
  return of.profileIds.find((id) => !there.has(id) && !isClosed(id) && awayFor(hub, id) === null) ?? null;
}

/** Assigns copies for all runs with several replicas; the schedule calls it. */
export async function assignCopies(hub: Hub, isStopped: () => boolean): Promise<void> {
  const runs = await hub.db.run.findMany({ where: { homes: { some: {} } }, select: { name: true } });
  for (const { name } of runs) {
    if (isStopped()) return;
    const newest = await newestComplete(hub.db, name);
    // A later doubtful checkpoint may be the one that a person wants most, and is the only one of some runs.
    for (const checkpoint of [newest, await doubtfulAfter(hub.db, name, newest)])
      if (checkpoint !== null && (await copyNext(hub, checkpoint))) break;
  }
}

/** Asks an idle node to copy a checkpoint to its next bucket. Returns whether a copy was requested, now or before. */
async function copyNext(hub: Hub, checkpoint: Checkpoint): Promise<boolean> {
  // Pieces of several nodes, and checkpoints joined from them, stay where they were written.
  if (isAdoptedRow(checkpoint) || checkpoint.damagedAt !== null || checkpoint.piece !== null) return false;
  if (isLeftToWriter(hub, checkpoint)) return false;
  const profileId = await nextHome(hub, checkpoint);
  if (profileId === null) return false;
  if (await isUnderWay(hub, checkpoint)) return true;
  const roomBytes = neededBytes(Number(checkpoint.sizeBytes));
  const from = await profilesFor(hub.db, checkpoint);
  const [node] = idleNodes(hub, { profileId: checkpoint.profileId, roomBytes, from });
  if (node === undefined) return false;
  const rest = { validMs: VALID_MS, actor: null };
  await askCheck(hub, { requestId: newId(), kind: "copy", checkpoint, node, profileId, ...rest });
  return true;
}

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
 * The node that wrote a checkpoint copies it from its own disk. When it is gone before that, or a home was added later, an idle
 * node reads the newest checkpoint of the run from one home and writes it to another, and after it a later one that is doubtful. One at a time of each run; what cannot be
 * done now is looked at again at the next beat.
 */

/** So long it is left to the node that wrote it. */
const LEFT_TO_WRITER_MS = 5 * 60_000;
/** One that failed is not tried again before. */
const AFTER_FAILURE_MS = 3_600_000;
const VALID_MS = 600_000;

const isHeard = (hub: Hub, nodeId: string): boolean => {
  const node = hub.live.nodes.get(nodeId);
  return node !== undefined && isExpected(stateOf(node));
};

/** The node that wrote it will do it by itself, as far as anybody can tell. */
const isLeftToWriter = (hub: Hub, { nodeId, committedAt }: Checkpoint): boolean =>
  isHeard(hub, nodeId) && hub.now() - (committedAt?.getTime() ?? 0) < LEFT_TO_WRITER_MS;

/** Somebody is at it, or was and failed. */
async function isUnderWay(hub: Hub, checkpoint: Checkpoint): Promise<boolean> {
  for (const { row } of hub.live.transfers.values()) {
    const isCopy = row.direction === "copy" && row.checkpointId === checkpoint.id;
    if (isCopy && !isEnded(row.state) && isHeard(hub, row.nodeId)) return true;
  }
  const since = new Date(hub.now() - AFTER_FAILURE_MS);
  const lately = { checkpointId: checkpoint.id, direction: "copy", state: "failed", endedAt: { gte: since } };
  return (await hub.db.transfer.count({ where: lately })) > 0;
}

/** The home that a checkpoint is to come to next; null when it lies in as many as it should, as far as they can be reached. */
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
  // What was saved before encryption was on is for no bucket that wants it.
  const isClosed = (id: string) => checkpoint.sealKeyId === null && sealing.some((row) => row.id === id);
  return of.profileIds.find((id) => !there.has(id) && !isClosed(id) && awayFor(hub, id) === null) ?? null;
}

/** What the clock does. */
export async function assignCopies(hub: Hub, isStopped: () => boolean): Promise<void> {
  const runs = await hub.db.run.findMany({ where: { homes: { some: {} } }, select: { name: true } });
  for (const { name } of runs) {
    if (isStopped()) return;
    const newest = await newestComplete(hub.db, name);
    // A later one that may not be whole is what a person may want more than any other, and the only one of some runs.
    for (const checkpoint of [newest, await doubtfulAfter(hub.db, name, newest)])
      if (checkpoint !== null && (await copyNext(hub, checkpoint))) break;
  }
}

/** Asks an idle node to copy a checkpoint to its next home. Returns whether one was asked, now or before. */
async function copyNext(hub: Hub, checkpoint: Checkpoint): Promise<boolean> {
  // Pieces of several nodes, and what is joined from them, stay where they were written.
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

import { Fault, toFault } from "#protocol/faults/fault.ts";
import type { EmptiedView } from "#protocol/retention/keeping.ts";
import { runName } from "#protocol/base/names.ts";
import type { Checkpoint, KeepRecord } from "#prisma/client/client.ts";
import { audit } from "#server/core/api/audit.ts";
import { completeCopies } from "#server/core/profiles/homes-of.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { OLD_ENOUGH_MS } from "#storage/manifest/classify-orphan.ts";
import { mayDelete, requireMayDelete } from "#server/core/retention/may-delete.ts";
import { isUpTo } from "#protocol/history/passed-over.ts";
import { findPassedOver } from "#server/core/runs/passed-over.ts";
import { findRead } from "#server/core/retention/find-read.ts";
import { holding, nameOf, withCheckpoint } from "./write-retention-record.ts";
import { readRecords } from "#server/core/retention/read-record.ts";
import { removeCheckpoint } from "./remove-checkpoint.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/**
 * Empties the trash, in two steps, which the hub alone does. First the deletion is decided under the lock of the run and
 * recorded: from then on nobody can restore the checkpoint. Then it is deleted; a hub continues this after a kill. Nothing is
 * deleted while a signature for its attempt may still be valid.
 */

const TRY_AGAIN_MS = 600_000;

type Verdict = "begun" | "too-young" | "gone" | "kept";

/** Returns the last time at which a signature for it may have been issued, in any bucket, epoch ms. A commit ends its attempt. */
async function lastSignedAt(hub: Hub, { id, committedAt }: Checkpoint): Promise<number> {
  const copies = await hub.db.checkpointCopy.findMany({
    where: { checkpointId: id },
    select: { committedAt: true, startedAt: true },
  });
  const times = copies.map((copy) => (copy.committedAt ?? copy.startedAt).getTime());
  return Math.max(committedAt?.getTime() ?? hub.now(), ...times);
}

/** Decides whether a checkpoint in the trash is deleted now. @throws Fault DELETIONS_OFF, those of the store */
async function begin(hub: Hub, checkpointId: string): Promise<Verdict> {
  return withCheckpoint(hub, checkpointId, async (checkpoint) => {
    await requireMayDelete(hub);
    if (checkpoint.state !== "trashed") return "gone";
    if (hub.now() - (await lastSignedAt(hub, checkpoint)) <= OLD_ENOUGH_MS) return "too-young";
    const run = runName.parse(checkpoint.run);
    for (const { profileId, bucket, prefix } of await completeCopies(hub.db, checkpoint)) {
      await readRecords(hub, await hub.stores.open(profileId), { run, checkpointId, bucket, prefix });
    }
    const fresh = await hub.db.checkpoint.findUniqueOrThrow({ where: { id: checkpointId }, select: { state: true } });
    if (fresh.state !== "trashed") return "gone";
    if ((await holding(hub, checkpointId, ["pin", "tag", "unread"])).length > 0) return "kept";
    if ((await findRead(hub.db, checkpoint.run)).has(checkpointId)) return "kept";
    const where = { checkpointId, kind: "trash", endedById: null, removingAt: null };
    await hub.db.keepRecord.updateMany({ where, data: { removingAt: new Date(hub.now()), tryAt: null } });
    return "begun";
  }).catch((error: unknown) => {
    if (toFault(error).code === "NOT_FOUND") return "gone" as const;
    throw error;
  });
}

async function noteFault(hub: Hub, row: KeepRecord, about: { error: unknown; data: { removingAt?: null } }) {
  hub.log.warn({ error: about.error, checkpointId: row.checkpointId }, "a checkpoint in the trash was not deleted");
  const fault = JSON.stringify(toFault(about.error, { op: "empty trash" }).toData());
  const tryAt = new Date(hub.now() + TRY_AGAIN_MS);
  await hub.db.keepRecord.updateMany({ where: { id: row.id }, data: { fault, tryAt, ...about.data } });
  hub.live.markStale(["checkpoints", "runs"]);
}

/** Continues every deletion that was decided. */
async function finishRemovals(hub: Hub, isStopped: () => boolean): Promise<void> {
  await hub.locks.run("empty the trash", async () => {
    const now = new Date(hub.now());
    const rows = await hub.db.keepRecord.findMany({
      where: {
        kind: "trash",
        endedById: null,
        removingAt: { not: null },
        OR: [{ tryAt: null }, { tryAt: { lte: now } }],
      },
      orderBy: { removingAt: "asc" },
    });
    for (const row of rows) {
      if (isStopped() || !(await mayDelete(hub))) return;
      const checkpoint = await hub.db.checkpoint.findUnique({ where: { id: row.checkpointId } });
      if (checkpoint === null || checkpoint.state !== "trashed") continue;
      try {
        const done = await removeCheckpoint(hub, checkpoint);
        // Nothing was deleted, so the checkpoint can still be restored from the trash.
        if (!done.started) await noteFault(hub, row, { error: done.fault, data: { removingAt: null } });
      } catch (error) {
        await noteFault(hub, row, { error, data: {} });
      }
    }
  });
}

/** Returns whether a checkpoint in the trash is of a line that its program passed over, which waits for a person. */
async function isPassedOver(
  hub: Hub,
  { run, checkpointId }: Pick<KeepRecord, "run" | "checkpointId">,
): Promise<boolean> {
  const over = await findPassedOver(hub.db, run);
  if (over.length === 0) return false;
  const row = await hub.db.checkpoint.findUnique({ where: { id: checkpointId }, select: { writerEpoch: true } });
  return row !== null && isUpTo(over, row.writerEpoch);
}

/** Deletes what has been in the trash for long enough, and continues interrupted deletions; the schedule calls it. */
export async function emptyDue(hub: Hub, isStopped: () => boolean): Promise<void> {
  if (!(await mayDelete(hub))) return;
  const now = new Date(hub.now());
  const due = await hub.db.keepRecord.findMany({
    where: {
      kind: "trash",
      endedById: null,
      removingAt: null,
      until: { lte: now },
      OR: [{ tryAt: null }, { tryAt: { lte: now } }],
    },
    orderBy: { until: "asc" },
  });
  for (const row of due) {
    if (isStopped()) return;
    if (await isPassedOver(hub, row)) continue;
    try {
      const verdict = await begin(hub, row.checkpointId);
      if (verdict === "kept")
        throw new Fault("CHECKPOINT_KEPT", { detail: "it has a pin or a tag in the bucket, or a node restores it" });
    } catch (error) {
      await noteFault(hub, row, { error, data: {} });
    }
  }
  await finishRemovals(hub, isStopped);
}

/**
 * Deletes these checkpoints in the trash now, before their time. The deletion continues after the answer.
 * @throws Fault DELETIONS_OFF, those of the store
 */
export async function emptyNow(
  { hub, caller }: Context & { caller: PersonCaller },
  { ids }: { ids: string[] },
): Promise<EmptiedView> {
  await requireMayDelete(hub);
  const answer: EmptiedView = { begun: 0, tooYoung: 0, kept: 0, gone: 0 };
  for (const id of new Set(ids)) {
    const row = await hub.db.checkpoint.findUnique({ where: { id } });
    const verdict = await begin(hub, id);
    if (verdict === "too-young") answer.tooYoung++;
    else if (verdict === "gone" || row === null) answer.gone++;
    else if (verdict === "kept") answer.kept++;
    else {
      answer.begun++;
      await audit(hub, caller, { action: "checkpoint empty", subject: nameOf(row), subjectId: id });
    }
  }
  hub.live.markStale(["checkpoints", "runs"]);
  finishRemovals(hub, () => hub.closing.aborted).catch((error: unknown) =>
    hub.log.error({ error }, "the trash was not emptied"),
  );
  return answer;
}

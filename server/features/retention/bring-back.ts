import { stepTitle } from "#protocol/checkpoint/step-words.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { headObject } from "#storage/s3/objects.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { audit } from "#server/core/api/audit.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { holding, nameOf, withCheckpoint, writeRecord } from "./write-retention-record.ts";
import { countComplete } from "./trash.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/**
 * Checks that the manifest still exists: a deletion removes it first, so nothing is deleted while it is there.
 * @throws Fault CONFLICT, those of the store
 */
async function requireManifest(hub: Hub, checkpoint: Checkpoint): Promise<void> {
  const store = await hub.stores.open(checkpoint.profileId);
  const { bucket, manifestKey: key } = checkpoint;
  const gone = new Fault("CONFLICT", { subject: nameOf(checkpoint), detail: "its deletion has begun" });
  if (key === null) throw gone;
  try {
    await headObject(store.client, { bucket, key });
  } catch (error) {
    if (isFault(error) && (error.code === "NO_SUCH_KEY" || error.code === "NOT_FOUND")) throw gone;
    throw error;
  }
}

/**
 * Restores a checkpoint from the trash, complete as it was; no policy moves it there again.
 * @throws Fault NOT_FOUND, CONFLICT when its deletion has begun, those of the store
 */
export async function bringBack(
  { hub, caller }: Context & { caller: PersonCaller },
  { id }: { id: string },
): Promise<{ isBack: boolean }> {
  return withCheckpoint(hub, id, async (checkpoint) => {
    if (checkpoint.state !== "trashed") return { isBack: false };
    const subject = nameOf(checkpoint);
    const where = { checkpointId: id, kind: "trash", endedById: null, removingAt: { not: null } };
    if ((await hub.db.keepRecord.count({ where })) > 0) {
      throw new Fault("CONFLICT", { subject, detail: "its deletion has begun" });
    }
    await requireManifest(hub, checkpoint);
    const word = { word: { kind: "end" as const }, ends: await holding(hub, id, ["trash"]) };
    const event = await writeRecord(hub, { checkpoint, by: caller.person.email, word }, async (tx) => {
      await audit({ db: tx, now: hub.now }, caller, { action: "checkpoint bring back", subject, subjectId: id });
      const { run, step } = checkpoint;
      const text = `${stepTitle(Number(step))} of ${run} was brought back from the trash by ${caller.person.email}`;
      const line = { at: hub.now(), kind: "checkpoint-back" as const, work: "safe" as const, run, text };
      return recordEvent(tx, { ...line, step: Number(step) });
    });
    countComplete(hub, 1);
    emit(hub, event, ["checkpoints", "runs"]);
    return { isBack: true };
  });
}

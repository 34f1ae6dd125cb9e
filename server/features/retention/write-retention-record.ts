import { stepText } from "#protocol/checkpoint/step-words.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { keepRecord, type CheckpointKeeping, type KeepRecord } from "#protocol/retention/keeping.ts";
import { keepRecordKey } from "#protocol/checkpoint/keys.ts";
import { runName } from "#protocol/base/names.ts";
import { putObjectText } from "#storage/s3/objects.ts";
import type { Transaction } from "#prisma/open.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { audit } from "#server/core/api/audit.ts";
import { emit } from "#server/core/events/record-event.ts";
import { completeCopies } from "#server/core/profiles/homes-of.ts";
import { oweWords } from "#server/core/retention/write-retention-records.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { newId } from "#server/platform/random-id.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";
import { keepingOf } from "#server/core/retention/find-keeping.ts";
import { takeRecord } from "#server/core/retention/take-record.ts";

/**
 * Writes retention records of a checkpoint (pin, tag, note, trash and their ends): first as an object in a bucket that has the
 * checkpoint, then in the database. Fails if none of these buckets takes the object. Records of one run are written one after
 * another, so that nothing changes while a decision is made.
 */

export interface RecordContent {
  word: KeepRecord["word"];
  /** Ids of the records that it ends. */
  ends: readonly string[];
}

export const nameOf = ({ step, run }: Pick<Checkpoint, "step" | "run">): string => `${stepText(step)} of ${run}`;

/** Writes the object, then the row, with `also` in the same transaction. @throws Fault those of the store */
export async function writeRecord<T>(
  hub: Hub,
  about: { checkpoint: Checkpoint; by: string; word: RecordContent; at?: number },
  also: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const { checkpoint, by, at = hub.now() } = about;
  const record = keepRecord.parse({
    format: "tidemark.keeping",
    version: 1,
    id: newId(),
    run: checkpoint.run,
    checkpointId: checkpoint.id,
    at,
    by,
    ...about.word,
  } satisfies Record<keyof KeepRecord, unknown>);
  const { key, missed } = await putInHomes(hub, checkpoint, record);
  return hub.db.$transaction(async (tx) => {
    await takeRecord(tx, record, { key });
    await oweWords(tx, { checkpointId: checkpoint.id, profileIds: missed, since: new Date(record.at) });
    return also(tx);
  });
}

/**
 * Writes the record to all buckets that have the checkpoint. One success is enough; the hub writes it to the others later. If
 * all fail, throws the fault of the bucket that the checkpoint's row names.
 */
async function putInHomes(
  hub: Hub,
  checkpoint: Checkpoint,
  record: KeepRecord,
): Promise<{ key: string; missed: string[] }> {
  const { run, checkpointId, id, word } = record;
  const put = async ({ profileId, bucket, prefix }: { profileId: string; bucket: string; prefix: string }) => {
    const store = await hub.stores.open(profileId);
    const key = keepRecordKey(prefix, { run, checkpointId, id, kind: word.kind });
    const once = store.access.traits.conditionalWrites ? { ifNoneMatch: "*" as const } : {};
    await putObjectText(store.client, { bucket, key, text: JSON.stringify(record), ...once });
    return key;
  };
  const copies = await completeCopies(hub.db, checkpoint);
  const tried = await Promise.allSettled(copies.map(put));
  const key = tried.find((one) => one.status === "fulfilled")?.value;
  const [first] = tried;
  if (key === undefined) throw first?.status === "rejected" ? first.reason : new Fault("INTERNAL", { op: "keeping" });
  return { key, missed: copies.flatMap(({ profileId }, at) => (tried[at]?.status === "rejected" ? [profileId] : [])) };
}

/** Returns the row of a checkpoint. @throws Fault NOT_FOUND */
export async function findCheckpointRow(hub: Pick<Hub, "db">, id: string): Promise<Checkpoint> {
  const row = await hub.db.checkpoint.findUnique({ where: { id } });
  if (row === null) throw new Fault("NOT_FOUND", { subject: "this checkpoint" });
  return row;
}

/**
 * Runs `task` with the checkpoint under the lock of its run, so that no other record is written meanwhile.
 * @throws Fault NOT_FOUND
 */
export async function withCheckpoint<T>(hub: Hub, id: string, task: (row: Checkpoint) => Promise<T>): Promise<T> {
  const { run } = await findCheckpointRow(hub, id);
  return hub.locks.run(`run ${runName.parse(run)}`, async () => task(await findCheckpointRow(hub, id)));
}

/**
 * Writes a person's record about a complete checkpoint. `recordOf` returns null when nothing has to change.
 * @returns the retention records that hold now
 * @throws Fault NOT_FOUND, CHECKPOINT_INCOMPLETE, CHECKPOINT_TRASHED, those of `recordOf` and of the store
 */
export async function changeRetention(
  { hub, caller }: { hub: Hub; caller: PersonCaller },
  about: { id: string; action: string; subject?: (row: Checkpoint) => string },
  recordOf: (row: Checkpoint) => Promise<RecordContent | null>,
): Promise<CheckpointKeeping> {
  return withCheckpoint(hub, about.id, async (checkpoint) => {
    const subject = nameOf(checkpoint);
    if (checkpoint.state === "trashed") throw new Fault("CHECKPOINT_TRASHED", { subject });
    if (checkpoint.state !== "complete") throw new Fault("CHECKPOINT_INCOMPLETE", { subject });
    const word = await recordOf(checkpoint);
    if (word === null) return keepingOf(hub.db, checkpoint.id);
    const { action } = about;
    const keeping = await writeRecord(hub, { checkpoint, by: caller.person.email, word }, async (tx) => {
      const entry = { action, subject: about.subject?.(checkpoint) ?? subject, subjectId: checkpoint.id };
      await audit({ db: tx, now: hub.now }, caller, entry);
      return keepingOf(tx, checkpoint.id);
    });
    emit(hub, null, ["checkpoints", "runs"]);
    return keeping;
  });
}

/** Returns the ids of records of these kinds that hold for a checkpoint. */
export async function holding(hub: Pick<Hub, "db">, checkpointId: string, kinds: readonly string[]): Promise<string[]> {
  const where = { checkpointId, kind: { in: [...kinds] }, endedById: null };
  return (await hub.db.keepRecord.findMany({ where, select: { id: true } })).map(({ id }) => id);
}

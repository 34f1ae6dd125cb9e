import { stepText, stepTitle } from "#protocol/checkpoint/step-words.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { attemptPrefix, findingFolder } from "#protocol/checkpoint/keys.ts";
import { attemptId, runName, type AttemptId, type RunName } from "#protocol/base/names.ts";
import { formatBytes } from "#protocol/base/units.ts";
import { listObjects } from "#storage/s3/listing.ts";
import { deleteObject } from "#storage/s3/objects.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { isAdoptedRow } from "#server/core/runs/is-adopted.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { WITHOUT_MANIFEST } from "#server/core/profiles/homes-of.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";
import { dataKeyUnder, foreignPrefixes } from "#server/core/retention/find-orphans.ts";
import { requireMayDelete } from "#server/core/retention/may-delete.ts";

/**
 * Deletes one checkpoint whose deletion was decided, in every bucket with a copy or a part of one. Deletes nothing while one of
 * the buckets is unreachable. The manifests go first, then the objects of its attempts, then its row. After an interruption at
 * any point the checkpoint has no manifest and so does not exist, neither here nor for a hub that is rebuilt from the bucket.
 * The row names what is left to delete; if the row is lost too, the janitor finds the rest. Deleting data first would leave a
 * manifest that promises missing bytes. Its retention records stay in the bucket: they tell a hub restored from an older backup
 * of the deletion.
 */

const AT_A_TIME = 8;
const PAGE = 1_000;

type Attempt = { epoch: number; attempt: AttemptId };

interface Removal {
  hub: Hub;
  store: OpenStore;
  checkpoint: Checkpoint;
  run: RunName;
  /** Bucket of the copy. */
  bucket: string;
  prefix: string;
  own: Attempt;
}

interface Found {
  removal: Removal;
  manifests: { key: string; at: Attempt }[];
}

async function deleteAll({ store, bucket }: Removal, keys: readonly string[]): Promise<void> {
  for (let from = 0; from < keys.length; from += AT_A_TIME) {
    const some = keys.slice(from, from + AT_A_TIME);
    const ended = await Promise.allSettled(some.map((key) => deleteObject(store.client, { bucket, key })));
    for (const one of ended) if (one.status === "rejected") throw one.reason;
  }
}

/** Returns every manifest of this checkpoint: an interrupted commit may have left one besides the valid one. */
async function findManifests({ store, checkpoint, run, ...at }: Removal): Promise<Found["manifests"]> {
  const prefix = `${at.prefix}manifests/${run}/`;
  const found: { key: string; at: Attempt }[] = [];
  for await (const { key } of listObjects(store.client, { bucket: at.bucket, prefix })) {
    const match = /^e(\d{6})\/s\d{12}-(.+)-([a-z0-9]{12,32})\.json$/.exec(key.slice(prefix.length));
    if (match?.[2] !== checkpoint.id) continue;
    found.push({ key, at: { epoch: Number(match[1]), attempt: attemptId.parse(match[3]) } });
  }
  return found;
}

/** Deletes all objects of an attempt, named by its manifest or not: nothing else may write or name a key below it. */
async function deleteAttempt(removal: Removal, at: Attempt): Promise<void> {
  const { hub, store, run, bucket } = removal;
  await requireMayDelete(hub);
  const foreign = await foreignPrefixes(hub.db, store);
  const prefix = attemptPrefix(removal.prefix, { run, ...at });
  let batch: string[] = [];
  for await (const { key } of listObjects(store.client, { bucket, prefix })) {
    if (dataKeyUnder(store, foreign, key) === null) continue;
    batch.push(key);
    if (batch.length < PAGE) continue;
    await deleteAll(removal, batch);
    batch = [];
  }
  await deleteAll(removal, batch);
}

/** Deletes the findings of verifications, which mean nothing without the checkpoint. */
async function deleteFindings(removal: Removal): Promise<void> {
  const { store, checkpoint, run, bucket } = removal;
  const prefix = findingFolder(removal.prefix, { run, checkpointId: checkpoint.id });
  const keys: string[] = [];
  for await (const { key } of listObjects(store.client, { bucket, prefix })) keys.push(key);
  await deleteAll(removal, keys);
}

async function forget({ hub, checkpoint, run }: Pick<Removal, "hub" | "checkpoint" | "run">): Promise<void> {
  const { id, step, sizeBytes } = checkpoint;
  const now = hub.now();
  const event = await hub.db.$transaction(async (tx) => {
    // The tag record stays: it may have ended the same tag of another checkpoint.
    await tx.keepRecord.deleteMany({ where: { checkpointId: id, kind: { not: "tag" } } });
    await tx.owedWords.deleteMany({ where: { checkpointId: id } });
    await tx.checkpoint.delete({ where: { id } });
    await tx.checkpoint.deleteMany({ where: { joinedId: id } });
    const about = { action: "checkpoint delete", subject: `${stepText(step)} of ${run}`, subjectId: id };
    await tx.audit.create({ data: { at: new Date(now), actorKind: "hub", actor: "hub", ...about } });
    const text = `${stepTitle(Number(step))} of ${run} was deleted from the bucket (${formatBytes(Number(sizeBytes))})`;
    const line = { at: now, kind: "checkpoint-deleted" as const, work: "safe" as const, run, text };
    return recordEvent(tx, { ...line, step: Number(step) });
  });
  emit(hub, event, ["checkpoints", "runs"]);
}

/**
 * Deletes a checkpoint, or what is left of it. May be interrupted and repeated.
 * @returns `started: false` with the fault when nothing was deleted yet
 * @throws Fault DELETIONS_OFF and those of the store, once something was deleted
 */
export async function removeCheckpoint(
  hub: Hub,
  checkpoint: Checkpoint,
): Promise<{ started: true } | { started: false; fault: unknown }> {
  const run = runName.parse(checkpoint.run);
  const found: Found[] = [];
  try {
    await requireMayDelete(hub);
    if (isAdoptedRow(checkpoint)) throw new Fault("CHECKPOINT_KEPT", { detail: "another tool wrote it" });
    const copies = await hub.db.checkpointCopy.findMany({
      where: { checkpointId: checkpoint.id },
      omit: WITHOUT_MANIFEST,
    });
    // The objects of a checkpoint that was joined from pieces lie where the pieces were written.
    const pieces = await hub.db.checkpoint.findMany({ where: { joinedId: checkpoint.id } });
    const places = [
      ...[checkpoint, ...copies].map((place) => ({ place, of: checkpoint })),
      ...pieces.map((piece) => ({ place: piece, of: piece })),
    ];
    for (const { place, of } of places) {
      const { profileId, bucket, prefix } = place;
      const own = { epoch: of.writerEpoch, attempt: attemptId.parse(place.attempt) };
      const removal = { hub, store: await hub.stores.open(profileId), checkpoint: of, run, bucket, prefix, own };
      found.push({ removal, manifests: await findManifests(removal) });
    }
    const first = found.find(({ manifests }) => manifests.length > 0);
    if (first !== undefined) {
      await deleteAll(
        first.removal,
        first.manifests.slice(0, 1).map(({ key }) => key),
      );
    }
  } catch (fault) {
    return { started: false, fault };
  }
  for (const { removal, manifests } of found) {
    await deleteAll(
      removal,
      manifests.map(({ key }) => key),
    );
  }
  for (const { removal, manifests } of found) {
    const attempts = [removal.own, ...manifests.map(({ at }) => at)];
    for (const at of new Map(attempts.map((one) => [one.attempt, one])).values()) await deleteAttempt(removal, at);
    await deleteFindings(removal);
  }
  await forget({ hub, checkpoint, run });
  return { started: true };
}

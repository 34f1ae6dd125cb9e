import { attemptPrefix } from "#protocol/keys.ts";
import { attemptId, runName, type AttemptId, type RunName } from "#protocol/names.ts";
import { formatBytes } from "#protocol/units.ts";
import { listObjects } from "#storage/listing.ts";
import { deleteObject } from "#storage/objects.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import type { Hub } from "../hub.ts";
import type { OpenStore } from "../profiles/open-store.ts";
import { dataKeyUnder, foreignPrefixes } from "../upkeep/find-leftovers.ts";
import { requireMayDelete } from "../upkeep/may-delete.ts";

/**
 * Deletes one checkpoint of which it was decided that it goes. Its manifests go first, then what its attempts wrote, then
 * its row. Whenever that is cut off: without its manifest it is no checkpoint to anybody, neither here nor for a hub
 * that is rebuilt from the bucket; the row says what is still to be deleted, and if that is lost too, the rest is what the
 * janitor finds. With the data first a manifest would be left that promises bytes which are gone. What was said about
 * keeping it stays in the bucket: it tells a hub restored from an older backup that this one was given up.
 */

const AT_A_TIME = 8;
const PAGE = 1_000;

type Attempt = { epoch: number; attempt: AttemptId };

interface Removal {
  hub: Hub;
  store: OpenStore;
  checkpoint: Checkpoint;
  run: RunName;
}

async function deleteAll({ store, checkpoint }: Removal, keys: readonly string[]): Promise<void> {
  const { bucket } = checkpoint;
  for (let from = 0; from < keys.length; from += AT_A_TIME) {
    const some = keys.slice(from, from + AT_A_TIME);
    const ended = await Promise.allSettled(some.map((key) => deleteObject(store.client, { bucket, key })));
    for (const one of ended) if (one.status === "rejected") throw one.reason;
  }
}

/** Every manifest of this checkpoint: a commit that was cut off may have left one besides the one that counts. */
async function findManifests({ store, checkpoint, run }: Removal): Promise<{ key: string; at: Attempt }[]> {
  const prefix = `${checkpoint.prefix}manifests/${run}/`;
  const found: { key: string; at: Attempt }[] = [];
  for await (const { key } of listObjects(store.client, { bucket: checkpoint.bucket, prefix })) {
    const match = /^e(\d{6})\/s\d{12}-(.+)-([a-z0-9]{12,32})\.json$/.exec(key.slice(prefix.length));
    if (match?.[2] !== checkpoint.id) continue;
    found.push({ key, at: { epoch: Number(match[1]), attempt: attemptId.parse(match[3]) } });
  }
  return found;
}

/** What an attempt wrote, named by its manifest or not: nothing else may write or name a key below it. */
async function deleteAttempt(removal: Removal, at: Attempt): Promise<void> {
  const { hub, store, checkpoint, run } = removal;
  await requireMayDelete(hub);
  const foreign = await foreignPrefixes(hub.db, store);
  const prefix = attemptPrefix(checkpoint.prefix, { run, ...at });
  let batch: string[] = [];
  for await (const { key } of listObjects(store.client, { bucket: checkpoint.bucket, prefix })) {
    if (dataKeyUnder(store, foreign, key) === null) continue;
    batch.push(key);
    if (batch.length < PAGE) continue;
    await deleteAll(removal, batch);
    batch = [];
  }
  await deleteAll(removal, batch);
}

async function forget({ hub, checkpoint, run }: Removal): Promise<void> {
  const { id, step, sizeBytes } = checkpoint;
  const now = hub.now();
  const event = await hub.db.$transaction(async (tx) => {
    // A tag may have taken back another's: it is remembered.
    await tx.keepRecord.deleteMany({ where: { checkpointId: id, kind: { not: "tag" } } });
    await tx.checkpoint.delete({ where: { id } });
    const about = { action: "checkpoint delete", subject: `step ${step} of ${run}`, subjectId: id };
    await tx.audit.create({ data: { at: new Date(now), actorKind: "hub", actor: "hub", ...about } });
    const text = `Step ${step} of ${run} was deleted from the bucket (${formatBytes(Number(sizeBytes))})`;
    const line = { at: now, kind: "checkpoint-deleted" as const, work: "safe" as const, run, text };
    return recordEvent(tx, { ...line, step: Number(step) });
  });
  emit(hub, event, ["checkpoints", "runs"]);
}

/**
 * Deletes it, or what is left of it. May be cut off and repeated.
 * @returns `started: false` with the fault when nothing was deleted yet
 * @throws Fault DELETIONS_OFF and those of the store, once something was deleted
 */
export async function removeCheckpoint(
  hub: Hub,
  checkpoint: Checkpoint,
): Promise<{ started: true } | { started: false; fault: unknown }> {
  const run = runName.parse(checkpoint.run);
  const own: Attempt = { epoch: checkpoint.writerEpoch, attempt: attemptId.parse(checkpoint.attempt) };
  let removal: Removal;
  let manifests: { key: string; at: Attempt }[];
  try {
    await requireMayDelete(hub);
    removal = { hub, store: await hub.stores.open(checkpoint.profileId), checkpoint, run };
    manifests = await findManifests(removal);
    const [first] = manifests;
    if (first !== undefined) await deleteAll(removal, [first.key]);
  } catch (fault) {
    return { started: false, fault };
  }
  await deleteAll(
    removal,
    manifests.slice(1).map(({ key }) => key),
  );
  const attempts = new Map<string, Attempt>([own, ...manifests.map(({ at }) => at)].map((at) => [at.attempt, at]));
  for (const at of attempts.values()) await deleteAttempt(removal, at);
  await forget(removal);
  return { started: true };
}

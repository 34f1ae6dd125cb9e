import { attemptPrefix, findingFolder, OWN_FOLDERS } from "#protocol/checkpoint/keys.ts";
import { attemptId, id, type AttemptId, type RunName } from "#protocol/base/names.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { parseJsonOrNull } from "#protocol/base/parse-json-or-null.ts";
import * as z from "zod";
import type { BucketCalls } from "./bucket-calls.ts";
import type { RestoreLeases } from "./restore-leases.ts";
import { readManifestKey, type ListedCheckpoint, type RunRecord, type RunRecords } from "./run-record.ts";

/** Deletes checkpoints whose time in the trash is over. The next writer continues an interrupted deletion. */

export interface DeletionParts {
  calls: BucketCalls;
  records: RunRecords;
  prefix: string;
  restores: RestoreLeases;
  /** Checks that this node still writes the run. @throws Fault EPOCH_OVER when another node does, those of the store */
  assertWriter(): Promise<void>;
}

const LANES = 8;
/**
 * Author of trash records. Only checkpoints with its records are deleted; those that a hub moved to the trash are left
 * to a hub.
 */
export const AUTHOR = "--keep on ";

/** Returns whether a node's rules moved a checkpoint to the trash, and its time there is over. */
export function isDue(
  { calls }: Pick<DeletionParts, "calls">,
  { retention }: RunRecord,
  checkpointId: string,
): boolean {
  const state = retention.get(checkpointId);
  if (state?.trash == null || state.isKept) return false;
  return state.trash.by.startsWith(AUTHOR) && state.trash.until <= calls.now();
}

/** Plan of the deletion of one checkpoint. Its object exists from before the first deletion until after the last. */
const deletion = z.object({
  format: z.literal("tidemark.deletion"),
  version: z.literal(1),
  checkpointId: id,
  step: z.number().int().min(0),
  attempts: z.array(z.object({ epoch: z.number().int().min(0).max(999_999), attempt: attemptId })).max(64),
});
type Attempt = { epoch: number; attempt: AttemptId };
type Deletion = z.infer<typeof deletion> & { run: RunName };

const deletionFolder = (prefix: string, run: RunName): string => `${prefix}${OWN_FOLDERS.own}deletions/${run}/`;
const deletionKey = (prefix: string, { run, checkpointId }: Pick<Deletion, "run" | "checkpointId">): string =>
  `${deletionFolder(prefix, run)}${checkpointId}.json`;

/**
 * Deletes a checkpoint, unless a node restores it. Returns whether it was deleted. @throws Fault EPOCH_OVER, those of the store
 */
export async function deleteCheckpoint(parts: DeletionParts, run: RunName, one: ListedCheckpoint): Promise<boolean> {
  const planned = await planDeletion(parts, run, one);
  // Checked after the plan was written, because a node announces its restore first and looks for the plan afterwards.
  if ((await parts.restores.restoring(run)).has(one.checkpointId)) {
    await parts.calls.remove(deletionKey(parts.prefix, planned));
    return false;
  }
  await remove(parts, planned);
  return true;
}

/**
 * Announces a restore of this node. Returns a function to call at its end. A store that does not answer does not stop
 * the restore, which waits for the store anyway. @throws Fault NOT_FOUND when the checkpoint is being deleted,
 * CANCELLED
 */
export async function announceRestore(
  { calls, records, prefix, restores }: Omit<DeletionParts, "assertWriter">,
  about: { run: RunName; checkpointId: string },
): Promise<() => Promise<void>> {
  const { run, checkpointId } = about;
  const isTrashed = async () => (await records.read(run)).trashed.some((one) => one.checkpointId === checkpointId);
  // At least a day passes between the move to the trash and the deletion, so a checkpoint outside of the trash needs no
  // announcement at once.
  const when = (await isTrashed().catch(falseUnlessCancelled)) ? "now" : "late";
  const leave = await restores.announce(about, when);
  if (when === "late") return leave;
  // A plan may be left from before the checkpoint was brought back.
  const isGoing = async () =>
    (await calls.read(deletionKey(prefix, about))) !== null && isDue({ calls }, await records.read(run), checkpointId);
  if (!(await isGoing().catch(falseUnlessCancelled))) return leave;
  await leave();
  const detail = "its time in the trash is over, and it is being deleted by --keep";
  throw new Fault("NOT_FOUND", { op: "restore", subject: run, detail });
}

function falseUnlessCancelled(error: unknown): false {
  if (!isFault(error) || error.code === "CANCELLED") throw error;
  return false;
}

/** Records the objects to delete: after a kill no manifest would name them. */
async function planDeletion({ calls, prefix }: DeletionParts, run: RunName, one: ListedCheckpoint): Promise<Deletion> {
  const { checkpointId, step } = one;
  const attempts = [...(await manifestsOf({ calls, prefix }, { run, checkpointId })).values()];
  const planned = { format: "tidemark.deletion", version: 1, checkpointId, step, attempts } as const;
  await calls.write(deletionKey(prefix, { run, checkpointId }), JSON.stringify(planned));
  return { ...planned, run };
}

/** Returns every manifest of a checkpoint, by key, with its attempt: an interrupted commit may have left a second one. */
async function manifestsOf(
  { calls, prefix }: Pick<DeletionParts, "calls" | "prefix">,
  { run, checkpointId }: Pick<Deletion, "run" | "checkpointId">,
): Promise<Map<string, Attempt>> {
  const found = new Map<string, Attempt>();
  for await (const { key } of calls.list(`${prefix}${OWN_FOLDERS.manifests}${run}/`)) {
    const read = readManifestKey(key);
    if (read?.checkpointId !== checkpointId) continue;
    found.set(key, { epoch: read.writerEpoch, attempt: attemptId.parse(read.attempt) });
  }
  return found;
}

/** Deletes the manifests first, so that none names missing objects. Can be interrupted and repeated. */
async function remove(parts: DeletionParts, { run, checkpointId, attempts }: Deletion): Promise<void> {
  const { calls, prefix } = parts;
  for (const key of (await manifestsOf({ calls, prefix }, { run, checkpointId })).keys()) await calls.remove(key);
  for (const at of attempts) {
    // A process that was suspended may have lost the run meanwhile.
    await parts.assertWriter();
    await removeBelow(calls, attemptPrefix(prefix, { run, ...at }));
  }
  await removeBelow(calls, findingFolder(prefix, { run, checkpointId }));
  await calls.remove(deletionKey(prefix, { run, checkpointId }));
}

async function removeBelow(calls: BucketCalls, folder: string): Promise<void> {
  const keys: string[] = [];
  for await (const { key } of calls.list(folder)) keys.push(key);
  await forEachOf(keys, LANES, (key) => calls.remove(key));
}

/** Continues the deletions that an earlier writer began. Returns their steps. */
export async function finishDeletions(parts: DeletionParts, run: RunName): Promise<number[]> {
  const { calls, prefix } = parts;
  const keys: string[] = [];
  for await (const { key } of calls.list(deletionFolder(prefix, run))) keys.push(key);
  const steps: number[] = [];
  const restoring = keys.length === 0 ? new Set<string>() : await parts.restores.restoring(run);
  for (const key of keys) {
    const found = await calls.read(key);
    const read = found === null ? null : deletion.safeParse(parseJsonOrNull(found.text));
    if (read?.success !== true || deletionKey(prefix, { run, checkpointId: read.data.checkpointId }) !== key) continue;
    if (restoring.has(read.data.checkpointId)) continue;
    await parts.assertWriter();
    // A person may have pinned it or brought it back meanwhile.
    if (!isDue(parts, await parts.records.read(run), read.data.checkpointId)) continue;
    await remove(parts, { ...read.data, run });
    steps.push(read.data.step);
  }
  return steps;
}

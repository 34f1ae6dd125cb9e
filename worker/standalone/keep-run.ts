import { randomUUID } from "node:crypto";
import { isAdopted, type StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { attemptPrefix, findingFolder, keepRecordKey, OWN_FOLDERS } from "#protocol/checkpoint/keys.ts";
import { attemptId, id, type AttemptId, type RunName } from "#protocol/base/names.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { parseJsonOrNull } from "#protocol/base/parse-json-or-null.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { decideKeeping, type KeepCandidate, type KeepHistory } from "#protocol/retention/decide-keeping.ts";
import type { KeepPolicy, KeepRecord } from "#protocol/retention/keeping.ts";
import { isUpTo, passedOverBy, stillPassedOver, type PassedOver } from "#protocol/history/passed-over.ts";
import type { StepSource } from "#protocol/checkpoint/place.ts";
import { isTimeStep, stepSourceOf } from "#protocol/checkpoint/step-words.ts";
import * as z from "zod";
import type { BucketCalls } from "./bucket-calls.ts";
import { readManifestKey, type ListedCheckpoint, type RunRecord, type RunRecords } from "./run-record.ts";

/**
 * Applies the rules of `--keep` to a run, in two steps as a hub does. A checkpoint that no rule keeps is moved to the trash by a
 * retention record. When its time there is over, its objects are deleted. The writer of the run does both, under its lease.
 */
export interface KeepParts {
  calls: BucketCalls;
  records: RunRecords;
  prefix: string;
  policy: KeepPolicy;
  /** Name of this node, for the records. */
  node: string;
  /** Checkpoints that this node found damaged. */
  damaged: ReadonlySet<string>;
  /** Facts of manifests that were read before, by key; manifests never change. */
  facts: Map<string, ManifestFacts | null>;
  /** @throws Fault EPOCH_OVER when another node writes the run, those of the store */
  assertWriter(): Promise<void>;
}

/** Null for a checkpoint that no rule removes: an external one, a final model, one without a readable manifest. */
type ManifestFacts = Pick<Candidate, "capturedAt" | "sizeBytes" | "metrics" | "source" | "root"> & {
  isDoubtful: boolean;
  isJoined: boolean;
};

/** `source`: origin of its step, as far as the manifest says it. */
type Candidate = KeepCandidate & { source: StepSource | undefined };

export interface KeptRun {
  /** Steps moved to the trash, newest first, and their bytes. */
  trashed: number[];
  trashedBytes: number;
  /** Steps whose objects were deleted. */
  deleted: number[];
  /** A rule keeps the best by a metric that no checkpoint has: then nothing is moved to the trash. */
  isMetricUnknown: boolean;
}

const LANES = 8;
/** Author of trash records. Only these are emptied: what a hub moved to the trash is left to a hub. */
const AUTHOR = "--keep on ";

function factsOf(manifest: StoredManifest): ManifestFacts | null {
  if (isAdopted(manifest) || manifest.role !== undefined) return null;
  const { capturedAt, sizeBytes, metrics, doubt, piece, joined, place } = manifest;
  const isDoubtful = doubt !== undefined;
  const source = stepSourceOf(place);
  return {
    capturedAt,
    sizeBytes,
    metrics,
    source,
    root: place?.root?.index,
    isDoubtful,
    isJoined: piece !== undefined || joined !== undefined,
  };
}

async function readFacts({ records, facts }: KeepParts, listed: readonly ListedCheckpoint[]): Promise<void> {
  await forEachOf(
    listed.filter(({ key }) => !facts.has(key)),
    LANES,
    async (one) => {
      try {
        facts.set(one.key, factsOf((await records.manifest(one)).manifest));
      } catch (error) {
        if (!isFault(error) || error.code !== "CHECKPOINT_INCOMPLETE") throw error;
        facts.set(one.key, null);
      }
    },
  );
}

function historyOf(
  { facts, damaged }: KeepParts,
  record: RunRecord,
): KeepHistory & { checkpoints: readonly Candidate[] } {
  const checkpoints = record.checkpoints.flatMap((one): Candidate[] => {
    const known = facts.get(one.key);
    if (known == null) return [];
    const { isDoubtful, isJoined, ...shown } = known;
    const { checkpointId, step, writerEpoch } = one;
    const retention = record.retention.get(checkpointId);
    return [
      {
        ...shown,
        id: checkpointId,
        step,
        writerEpoch,
        state: "complete",
        verifiedAt: null,
        isDamaged: isDoubtful || damaged.has(checkpointId) || record.damaged.has(checkpointId),
        // The objects of a joined checkpoint lie where several nodes wrote them: a hub alone knows all places.
        isPinned: isJoined || retention?.isKept === true,
        tags: [],
        isRestoring: false,
        wasBroughtBack: retention?.wasBroughtBack === true,
      },
    ];
  });
  return {
    checkpoints,
    parents: record.claims.flatMap(({ parent }) => (parent === null ? [] : [parent])),
    fresh: record.claims.flatMap(({ epoch, parent }) => (parent === null ? [epoch] : [])),
    passedOver: passedOverIn(record, checkpoints).map(({ given }) => given),
  };
}

/**
 * Returns the restored checkpoints that programs did not go on from, by the claims of new lines: until a later checkpoint has
 * reached the step, or a person has chosen a start (`--from`).
 */
function passedOverIn({ claims }: Pick<RunRecord, "claims">, checkpoints: readonly Candidate[]): PassedOver[] {
  const chosen = claims.findLast(({ isChosen }) => isChosen === true)?.epoch ?? 0;
  const all = claims.flatMap(({ branch, claimedAt }) => passedOverBy(branch, claimedAt) ?? []);
  const reached = checkpoints
    .filter((one) => !one.isDamaged && !isTimeStep({ step: one.step, at: one.capturedAt, source: one.source }))
    .map(({ writerEpoch: epoch, step, capturedAt: at }) => ({ epoch, step, at }));
  return stillPassedOver(
    all.filter(({ epoch }) => epoch >= chosen),
    reached,
  );
}

/** Moves to the trash what no rule keeps, and deletes what has been there for long enough. @throws Fault EPOCH_OVER, those of the store */
export async function keepRun(parts: KeepParts, run: RunName): Promise<KeptRun> {
  await parts.assertWriter();
  const record = await parts.records.read(run);
  const deleted = await finishDeletions(parts, run);
  await readFacts(parts, record.checkpoints);
  const history = historyOf(parts, record);
  const { best } = parts.policy;
  // A name that was typed wrong must not empty the run, and a metric may come later.
  const isMetricUnknown =
    best !== null && history.checkpoints.every(({ metrics }) => !Object.hasOwn(metrics, best.metric));
  const decided = isMetricUnknown ? [] : decideKeeping(parts.policy, history);
  const going = decided.filter(({ fate }) => fate === "goes");
  if (going.length > 0) await parts.assertWriter();
  for (const { id: checkpointId } of going) await moveToTrash(parts, run, checkpointId);
  const over = passedOverIn(record, history.checkpoints);
  const due = record.trashed.filter(({ checkpointId }) => isDue(parts, record, checkpointId));
  for (const one of due.filter(({ writerEpoch }) => !isUpTo(over, writerEpoch))) {
    await parts.assertWriter();
    // Somebody may have pinned it, brought it back or gone on from it meanwhile.
    const now = await parts.records.read(run);
    const isParent = now.claims.some(({ parent }) => parent?.epoch === one.writerEpoch && parent.step === one.step);
    if (isParent || !isDue(parts, now, one.checkpointId)) continue;
    await remove(parts, await planDeletion(parts, run, one));
    deleted.push(one.step);
  }
  return {
    trashed: going.map(({ step }) => step),
    trashedBytes: going.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    deleted,
    isMetricUnknown,
  };
}

/** Returns whether a node's rules moved a checkpoint to the trash, and its time there is over. */
function isDue({ calls }: Pick<KeepParts, "calls">, { retention }: RunRecord, checkpointId: string): boolean {
  const state = retention.get(checkpointId);
  if (state?.trash == null || state.isKept) return false;
  return state.trash.by.startsWith(AUTHOR) && state.trash.until <= calls.now();
}

async function moveToTrash(
  { calls, prefix, policy, node }: KeepParts,
  run: RunName,
  checkpointId: string,
): Promise<void> {
  const at = Math.round(calls.now());
  const record: KeepRecord = {
    format: "tidemark.keeping",
    version: 1,
    id: randomUUID(),
    run,
    checkpointId,
    at,
    by: `${AUTHOR}${node}`,
    ends: [],
    word: { kind: "trash", until: at + policy.trashMs, why: "by the rules of --keep" },
  };
  await calls.write(keepRecordKey(prefix, { run, checkpointId, id: record.id, kind: "trash" }), JSON.stringify(record));
}

/** The deletion of one checkpoint that was begun. Its object lies in the bucket from before the first deletion until after the last. */
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

/** Notes what will be deleted: without its manifest nothing else would name the objects after a kill. */
async function planDeletion({ calls, prefix }: KeepParts, run: RunName, one: ListedCheckpoint): Promise<Deletion> {
  const { checkpointId, step } = one;
  const attempts = [...(await manifestsOf({ calls, prefix }, { run, checkpointId })).values()];
  const planned = { format: "tidemark.deletion", version: 1, checkpointId, step, attempts } as const;
  await calls.write(deletionKey(prefix, { run, checkpointId }), JSON.stringify(planned));
  return { ...planned, run };
}

/** Returns every manifest of a checkpoint, by key, with its attempt: an interrupted commit may have left a second one. */
async function manifestsOf(
  { calls, prefix }: Pick<KeepParts, "calls" | "prefix">,
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

/** Deletes the manifests first, so that none ever names objects that are gone. May be interrupted and repeated. */
async function remove(parts: KeepParts, { run, checkpointId, attempts }: Deletion): Promise<void> {
  const { calls, prefix } = parts;
  for (const key of (await manifestsOf({ calls, prefix }, { run, checkpointId })).keys()) await calls.remove(key);
  for (const at of attempts) {
    // A process that was frozen meanwhile may have lost the run.
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
async function finishDeletions(parts: KeepParts, run: RunName): Promise<number[]> {
  const { calls, prefix } = parts;
  const keys: string[] = [];
  for await (const { key } of calls.list(deletionFolder(prefix, run))) keys.push(key);
  const steps: number[] = [];
  for (const key of keys) {
    const found = await calls.read(key);
    const read = found === null ? null : deletion.safeParse(parseJsonOrNull(found.text));
    if (read?.success !== true || deletionKey(prefix, { run, checkpointId: read.data.checkpointId }) !== key) continue;
    await parts.assertWriter();
    // Somebody may have pinned it or brought it back meanwhile.
    if (!isDue(parts, await parts.records.read(run), read.data.checkpointId)) continue;
    await remove(parts, { ...read.data, run });
    steps.push(read.data.step);
  }
  return steps;
}

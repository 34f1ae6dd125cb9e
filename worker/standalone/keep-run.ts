import { randomUUID } from "node:crypto";
import { isAdopted, type StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { keepRecordKey } from "#protocol/checkpoint/keys.ts";
import type { RunName } from "#protocol/base/names.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { decideKeeping, type KeepCandidate, type KeepHistory } from "#protocol/retention/decide-keeping.ts";
import type { KeepPolicy, KeepRecord } from "#protocol/retention/keeping.ts";
import { AUTHOR, deleteCheckpoint, finishDeletions, isDue, type DeletionParts } from "./delete-checkpoint.ts";
import type { ListedCheckpoint, RunRecord } from "./run-record.ts";
import { isUpTo, passedOverBy, stillPassedOver, type PassedOver } from "#protocol/history/passed-over.ts";
import type { StepSource } from "#protocol/checkpoint/place.ts";
import { isTimeStep, stepSourceOf } from "#protocol/checkpoint/step-words.ts";

/**
 * Applies the rules of `--keep` to a run, in two steps as a hub does. First a retention record moves a checkpoint that
 * no rule keeps to the trash. When its time there is over, its objects are deleted. The writer of the run does both,
 * under its lease.
 */
export interface KeepParts extends DeletionParts {
  policy: KeepPolicy;
  /** Name of this node, for the records. */
  node: string;
  /** Checkpoints that this node found damaged. */
  damaged: ReadonlySet<string>;
  /** Facts of manifests read earlier, by key; manifests never change. */
  facts: Map<string, ManifestFacts | null>;
}

/** Null for a checkpoint that no rule removes: an external one, a final model, or one without a readable manifest. */
type ManifestFacts = Pick<Candidate, "capturedAt" | "sizeBytes" | "metrics" | "source" | "root"> & {
  isDoubtful: boolean;
  isJoined: boolean;
};

/** `source`: origin of its step, when the manifest has it. */
type Candidate = KeepCandidate & { source: StepSource | undefined };

export interface KeptRun {
  /** Steps moved to the trash, newest first, and their bytes. */
  trashed: number[];
  trashedBytes: number;
  /** Steps whose objects were deleted. */
  deleted: number[];
  /** Set when a rule keeps the best by a metric that no checkpoint has: nothing is then moved to the trash. */
  isMetricUnknown: boolean;
}

const LANES = 8;

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
  restoring: ReadonlySet<string>,
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
        // The objects of a joined checkpoint lie in several places, which only a hub knows.
        isPinned: isJoined || retention?.isKept === true,
        tags: [],
        isRestoring: restoring.has(checkpointId),
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
 * Returns the restored checkpoints whose lines their programs left, by the claims of new lines. Each counts until a
 * later checkpoint reaches its step, or a person chooses a start (`--from`).
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

/**
 * Moves checkpoints that no rule keeps to the trash, and deletes those whose time there is over. @throws Fault
 * EPOCH_OVER, those of the store
 */
export async function keepRun(parts: KeepParts, run: RunName): Promise<KeptRun> {
  await parts.assertWriter();
  const deleted = await finishDeletions(parts, run);
  const record = await parts.records.read(run);
  await readFacts(parts, record.checkpoints);
  const history = historyOf(parts, record, await parts.restores.restoring(run));
  const { best } = parts.policy;
  // A misspelled metric must not empty the run, and a metric may appear later.
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
    // A person may have pinned it or brought it back, or a program continued from it, meanwhile.
    const now = await parts.records.read(run);
    const isParent = now.claims.some(({ parent }) => parent?.epoch === one.writerEpoch && parent.step === one.step);
    if (isParent || !isDue(parts, now, one.checkpointId)) continue;
    if (await deleteCheckpoint(parts, run, one)) deleted.push(one.step);
  }
  return {
    trashed: going.map(({ step }) => step),
    trashedBytes: going.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    deleted,
    isMetricUnknown,
  };
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

import { stat } from "node:fs/promises";
import type { Candidate } from "../capture/detection/find.ts";
import { findCandidates } from "../capture/detection/walk-watched.ts";
import { lacksLinkedState, lookAt, type Look } from "../capture/detection/look.ts";
import { appearedAt, createRecogniser, evidenceOfName, inOrderOfEvidence } from "../capture/detection/recognise.ts";
import { readReadiness } from "../capture/detection/readiness.ts";
import type { Watch } from "../capture/watch.ts";
import type { LocalCheckpoint } from "./choose-resume.ts";

/** Evidence that a folder is one of the run's own checkpoints. */
export interface LocalEvidence {
  /** Returns whether this worker captured or restored the checkpoint. */
  knows(path: string, fingerprint: string): boolean;
  isRestored(path: string): boolean;
  /** Returns whether the known content of the path was captured although nothing showed that it was finished. */
  isUnfinished(path: string): boolean;
  /** When this worker began to watch the run, epoch ms. */
  watchedSince: number;
}

/**
 * Returns the checkpoints in a watched folder, lowest step first, while nobody writes to it. When a format does not say whether
 * a checkpoint is finished, a newer one beside it shows that its program went on. Faults: READ_FAILED.
 */
export async function readLocalCheckpoints(
  watch: Watch,
  { knows, isRestored, isUnfinished, watchedSince }: LocalEvidence,
): Promise<LocalCheckpoint[]> {
  const { takes, isDefault: onlyOwn = false } = watch;
  const found: LocalCheckpoint[] = [];
  const recogniser = createRecogniser({ isNamed: takes !== null, onlyOwn, watchedSince, knows, isRestored });
  for (const candidate of inOrderOfEvidence(await findCandidates(watch, takes))) {
    const { path, step } = candidate;
    // A candidate that cannot be read could be neither captured nor moved.
    const look = await lookAt(candidate).catch(() => null);
    if (look === null) continue;
    const { why, content, isForeign } = await recogniser.judge(candidate, look);
    // A program does not continue from a model that a person put there, and the worker does not move it.
    if (isForeign === true) continue;
    const isEmpty = look.files.length === 0;
    // A folder without recognized content counts if its program had just made it, or had only described its model there. The
    // folder's name must then contain a word that savers use; any other folder may be anybody's.
    if (why !== null) {
      const isWord = evidenceOfName(candidate) === "word";
      if (!isWord || !(isEmpty || (await isDescribed(candidate, look)))) continue;
    }
    const isKnown = !isEmpty && knows(path, look.fingerprint);
    const byFiles =
      isEmpty || look.temporary !== null || lacksLinkedState(look) ? "torn" : await stateOf(candidate, look);
    // A capture proves nothing when it was made although the checkpoint may be unfinished. A restored checkpoint is whole.
    const isProven = isRestored(path) || (byFiles !== "torn" && !isUnfinished(path));
    const state = isKnown && isProven ? "whole" : byFiles;
    const writtenAt = isEmpty ? await changedAt(path) : look.newestMs;
    const { fingerprint } = look;
    const appeared = await appearedAt(path, { newestMs: writtenAt });
    found.push({
      path,
      step,
      fingerprint,
      state,
      content,
      isKnown,
      writtenAt,
      appearedAt: appeared,
      stepSource: candidate.stepFrom ?? "name",
      ...(candidate.names !== undefined && { names: candidate.names }),
      ...(candidate.data !== undefined && { data: candidate.data }),
    });
  }
  found.sort((a, b) => a.step - b.step);
  return found.map((one) => {
    const isFollowed = found.some((later) => later.step > one.step && later.writtenAt >= one.writtenAt);
    return one.state === "doubtful" && isFollowed ? { ...one, state: "whole" } : one;
  });
}

/** Returns whether its own files say that weights are still to come (`save_pretrained` writes `config.json` first). */
const isDescribed = async (candidate: Candidate, look: Look): Promise<boolean> =>
  (await readReadiness(candidate, look)).says === "unfinished";

/** Returns the state that its files show. When the format says nothing, a killed program may have left half of it. */
async function stateOf(candidate: Candidate, look: Look): Promise<LocalCheckpoint["state"]> {
  const readiness = await readReadiness(candidate, look);
  if (readiness.says === "unfinished") return "torn";
  return readiness.says === "finished" || readiness.isWhole ? "whole" : "doubtful";
}

/** Returns when an empty folder was changed, epoch ms; 0 when the folder is gone. */
const changedAt = (path: string): Promise<number> =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );

/** Returns when the newest file of a checkpoint was written, epoch ms. Faults: READ_FAILED. */
export async function writtenAt(path: string): Promise<number> {
  const kind = (await stat(path)).isDirectory() ? "folder" : "file";
  return (await lookAt({ path, kind }))?.newestMs ?? 0;
}

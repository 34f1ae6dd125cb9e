import type { RunName } from "#protocol/base/names.ts";
import { stepSourceOf } from "#protocol/checkpoint/step-words.ts";
import { isKnownFormat, type ContentEvidence } from "#protocol/recognition/checkpoint-evidence.ts";
import { isLabelName } from "#protocol/recognition/checkpoint-file-names.ts";
import type { ShownPlace, StepSource } from "#protocol/checkpoint/place.ts";

/**
 * Decides from where training continues: a checkpoint in the bucket or one on this disk. The highest epoch wins, then the
 * highest step. A local checkpoint of the present epoch counts like a safe one. A checkpoint from before another node took the
 * run over does not count, however high its step. Training programs pick the checkpoint with the highest number by themselves,
 * so those above the chosen one are moved out of their sight. Only checkpoints that this run wrote are moved; the others are
 * reported.
 *
 * Pure.
 */
export interface LocalCheckpoint {
  path: string;
  step: number;
  fingerprint: string;
  /** `torn`: its program did not finish it. `doubtful`: nothing shows whether the program finished it. */
  state: "whole" | "doubtful" | "torn";
  content: ContentEvidence;
  /** Origin of its step. */
  stepSource: StepSource;
  /** When its newest file was written, epoch ms. */
  writtenAt: number;
  /** When it appeared on this disk, epoch ms: later than `writtenAt` for a copy that keeps old dates. */
  appearedAt: number;
  /** Whether it was captured or restored here, and has not changed since. */
  isKnown: boolean;
  /** Names of its files, when it is a set of files in a folder that holds others too. */
  names?: readonly string[];
  /** Subset of `names`: files that are neither models nor labels, such as a vocabulary. */
  data?: readonly string[];
}

/** Choice of a person (`--from`): the newest anywhere (the default), the newest in the bucket, or a start from the beginning. */
export type ResumeChoice = { kind: "newest" } | { kind: "bucket" } | { kind: "beginning" };

export interface ResumeInput {
  /** Newest complete checkpoint in the bucket; null when certainly none exists. */
  newest: { checkpointId: string; step: number; capturedAt: number; place?: ShownPlace } | null;
  /** Whether this node has been the only writer since it wrote the local checkpoints. */
  isSameEpoch: boolean;
  /** Whether this node never wrote the run before: the local checkpoints are then older than the use of Tidemark. */
  isFirstStart: boolean;
  /** Start of watching the run, or the time of its newest safe checkpoint if that is later. Epoch ms. */
  since: number;
  /** Step from which the present epoch started; null: the beginning. */
  parentStep: number | null;
  choice: ResumeChoice;
  local: readonly LocalCheckpoint[];
}

export interface Resume {
  from:
    | { kind: "local"; path: string; step: number; source: StepSource }
    | ({ kind: "restore"; source: StepSource | undefined } & NonNullable<ResumeInput["newest"]>)
    /** No checkpoint exists, or none is wanted. */
    | { kind: "start" };
  setAside: LocalCheckpoint[];
  /** Checkpoints above the chosen one that nothing shows to be this run's own: they stay where they are. */
  left: LocalCheckpoint[];
  /**
   * Uncaptured checkpoints up to the step from which the present epoch started: an earlier epoch wrote them. They stay and are not
   * captured: in the present epoch they would count as newer than the checkpoint that it started from.
   */
  outdated: LocalCheckpoint[];
}

/** Checkpoint on this disk from which a run resumes. */
export interface ResumePoint {
  run: RunName;
  path: string;
  step: number;
  /** Names of checkpoints that were beside it when it was captured, for frameworks that compare all of them. */
  siblings?: readonly string[];
}

/** Returns the one with the highest step; of equal ones, which two trainings wrote, the later. */
const highest = (all: readonly LocalCheckpoint[]): LocalCheckpoint | null =>
  all.toSorted((a, b) => b.step - a.step || b.writtenAt - a.writtenAt)[0] ?? null;

/**
 * Returns whether a checkpoint may be moved. Known ones may: captured or restored here. Others must have a known format, or be
 * a folder that their program had just begun. They must also be newer than the start of watching and the last safe step.
 */
function isOfThisRun({ isKnown, content, state, appearedAt }: LocalCheckpoint, since: number): boolean {
  if (isKnown) return true;
  // A torn folder with text files alone was only begun: its own files name what is missing.
  const isBegun = content === "empty" || (content === "text" && state === "torn");
  return (isKnownFormat(content) || isBegun) && appearedAt >= since;
}

export function chooseResume(input: ResumeInput): Resume {
  const { local, since } = input;
  const from = chooseFrom(input);
  const above = local.filter(({ step }) => step > (from.kind === "start" ? -1 : from.step));
  // A torn checkpoint of the chosen step lies at the target of the restore, which keeps it aside by itself.
  return {
    from,
    setAside: above.filter((one) => isOfThisRun(one, since)),
    left: above.filter((one) => !isOfThisRun(one, since)),
    outdated: local.filter(({ isKnown, step, path }) => {
      const isChosen = from.kind === "local" && from.path === path;
      return !isKnown && !isChosen && !above.some((one) => one.path === path) && step <= (input.parentStep ?? -1);
    }),
  };
}

/**
 * Returns the names of the files that move with a checkpoint; null for a folder or a single file. No half may stay: a program
 * that looks for `optim_50.pt` or `last.ckpt` would continue from it. Pure.
 */
export function movedWith(
  { names: all, data = [] }: LocalCheckpoint,
  from: Resume["from"]["kind"],
): readonly string[] | null {
  // Data files stay: a program that starts anew may need its vocabulary.
  const names = all?.filter((name) => !data.includes(name));
  if (names === undefined || from === "start") return names ?? null;
  // On the same disk a label (`last`, `best`) may be of the chosen checkpoint. After a restore only `best` stays: it may be of
  // any step.
  const stays = (name: string) => isLabelName(name) && (from === "local" || /best/i.test(name));
  return names.filter((name, at) => at === 0 || !stays(name));
}

/** Times of some disks are rounded to so much. */
const COARSE_MS = 2_000;

function chooseFrom({ newest, isSameEpoch, isFirstStart, choice, local }: ResumeInput): Resume["from"] {
  if (choice.kind === "beginning") return { kind: "start" };
  const isTrusted = (one: LocalCheckpoint): boolean => {
    if (one.state !== "whole") return false;
    if (newest === null) return choice.kind === "newest";
    // A local copy of the bucket's newest checkpoint need not be downloaded again.
    const isThatOne = one.isKnown && one.step === newest.step;
    // A higher step that was written before the newest belongs to an earlier line of training.
    const isLater = one.step === newest.step || one.writtenAt >= newest.capturedAt - COARSE_MS;
    return choice.kind === "newest" && isSameEpoch ? one.step >= newest.step && isLater : isThatOne;
  };
  // Without Tidemark the program would have continued from this older checkpoint.
  const isBelieved = (one: LocalCheckpoint): boolean =>
    choice.kind === "newest" && newest === null && isFirstStart && one.state === "doubtful";
  const best = highest(local.filter((one) => isTrusted(one) || isBelieved(one)));
  if (best !== null) return { kind: "local", path: best.path, step: best.step, source: best.stepSource };
  if (newest === null) return { kind: "start" };
  const { checkpointId, step, capturedAt, place } = newest;
  const source = stepSourceOf(place);
  return { kind: "restore", checkpointId, step, capturedAt, source, ...(place !== undefined && { place }) };
}

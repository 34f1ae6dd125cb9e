import { isKnownFormat, type ContentEvidence } from "#protocol/recognition/checkpoint-evidence.ts";
import { isLabelName } from "#protocol/recognition/checkpoint-file-names.ts";
import type { ShownPlace } from "#protocol/checkpoint/place.ts";

/**
 * Decides where training goes on from: a checkpoint in the bucket or one on this disk. Highest epoch first, then highest
 * step: what this node wrote in the present epoch counts like what is safe; what it wrote before another node took the run
 * over does not, however high its step is. Training programs take the checkpoint with the highest number by themselves, so
 * what lies above the chosen one is moved out of their sight. Only what this run wrote is ever moved; the rest is named.
 *
 * Pure.
 */
export interface LocalCheckpoint {
  path: string;
  step: number;
  fingerprint: string;
  /** `torn`: its program did not finish it. `doubtful`: nothing says whether it did. */
  state: "whole" | "doubtful" | "torn";
  content: ContentEvidence;
  /** When its newest file was written, epoch ms. */
  writtenAt: number;
  /** When it came to be on this disk: later than `writtenAt` for a copy that keeps old dates. Epoch ms. */
  appearedAt: number;
  /** It was captured or restored here, and has not changed since. */
  isKnown: boolean;
  /** Of several files of one folder: their names. */
  names?: readonly string[];
  /** Those of the names that are neither models nor labels: they are not moved with it. */
  data?: readonly string[];
}

/** A person's choice (`--from`), where it differs from the newest: a step, the bucket's newest, or the beginning. */
export type ResumeWish = { kind: "newest" } | { kind: "bucket" } | { kind: "beginning" };

export interface ResumeInput {
  /** Newest complete checkpoint in the bucket; null: there is none, and that is certain. */
  newest: { checkpointId: string; step: number; capturedAt: number; place?: ShownPlace } | null;
  /** This node has been the writer since it wrote what lies here. */
  isSameEpoch: boolean;
  /** This run was never written from here before: what lies here is from before Tidemark. */
  isFirstStart: boolean;
  /** When this worker began to watch the run, or its newest safe checkpoint was written, if that is later. Epoch ms. */
  since: number;
  wish: ResumeWish;
  local: readonly LocalCheckpoint[];
}

export interface Resume {
  from:
    | { kind: "local"; path: string; step: number }
    | { kind: "restore"; checkpointId: string; step: number; capturedAt: number; place?: ShownPlace }
    /** There is none anywhere, or none is wanted. */
    | { kind: "start" };
  setAside: LocalCheckpoint[];
  /** Above the chosen one, and nothing shows that this run wrote them: they stay where they are. */
  left: LocalCheckpoint[];
}

const highest = (all: readonly LocalCheckpoint[]): LocalCheckpoint | null =>
  all.reduce<LocalCheckpoint | null>((found, one) => (found === null || one.step > found.step ? one : found), null);

/**
 * Returns whether a checkpoint may be moved: it was captured or restored here; or it is in a known format (or a folder
 * that its program had just begun) and was written since the run was watched and since its last safe step.
 */
function isOfThisRun({ isKnown, content, state, appearedAt }: LocalCheckpoint, since: number): boolean {
  if (isKnown) return true;
  // Text alone is one that was begun where its own files say what is missing.
  const isBegun = content === "empty" || (content === "text" && state === "torn");
  return (isKnownFormat(content) || isBegun) && appearedAt >= since;
}

export function chooseResume(input: ResumeInput): Resume {
  const { local, since } = input;
  const from = chooseFrom(input);
  const above = local.filter(({ step }) => step > (from.kind === "start" ? -1 : from.step));
  // A torn one of the same step lies where the restored one will lie; the restore keeps it beside its own.
  return {
    from,
    setAside: above.filter((one) => isOfThisRun(one, since)),
    left: above.filter((one) => !isOfThisRun(one, since)),
  };
}

/**
 * Returns the files of a checkpoint that are moved with it; null of a folder or a single file. Half of one must not stay: a program
 * that looks for `optim_50.pt`, or for `last.ckpt`, would go on from it. Pure.
 */
export function movedWith(
  { names: all, data = [] }: LocalCheckpoint,
  from: Resume["from"]["kind"],
): readonly string[] | null {
  // A program that begins anew may need its vocabulary.
  const names = all?.filter((name) => !data.includes(name));
  if (names === undefined || from === "start") return names ?? null;
  // On the same disk the labels may be of the one that the program goes on from; the best one so far is of any step.
  const stays = (name: string) => isLabelName(name) && (from === "local" || /best/i.test(name));
  return names.filter((name, at) => at === 0 || !stays(name));
}

function chooseFrom({ newest, isSameEpoch, isFirstStart, wish, local }: ResumeInput): Resume["from"] {
  if (wish.kind === "beginning") return { kind: "start" };
  const isTrusted = (one: LocalCheckpoint): boolean => {
    if (one.state !== "whole") return false;
    if (newest === null) return wish.kind === "newest";
    // What is the very same as the one in the bucket need not be fetched again.
    const isThatOne = one.isKnown && one.step === newest.step;
    return wish.kind === "newest" && isSameEpoch ? one.step >= newest.step : isThatOne;
  };
  // From before Tidemark: without us the program would have gone on from it.
  const isBelieved = (one: LocalCheckpoint): boolean =>
    wish.kind === "newest" && newest === null && isFirstStart && one.state === "doubtful";
  const best = highest(local.filter((one) => isTrusted(one) || isBelieved(one)));
  if (best !== null) return { kind: "local", path: best.path, step: best.step };
  if (newest === null) return { kind: "start" };
  const { checkpointId, step, capturedAt, place } = newest;
  return { kind: "restore", checkpointId, step, capturedAt, ...(place !== undefined && { place }) };
}

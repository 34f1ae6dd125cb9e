/**
 * Where training goes on from, of what the bucket has and what lies on this disk. Highest epoch first, then highest step:
 * what this node wrote in the present epoch counts like what is safe; what it wrote before another node took the run over
 * does not, however high its step is. Training programs take the checkpoint with the highest number by themselves, so
 * everything above the chosen one that must not be taken is set aside.
 *
 * Pure.
 */
export interface LocalCheckpoint {
  path: string;
  step: number;
  /** `torn`: its program did not finish it. `doubtful`: nothing says whether it did. */
  state: "whole" | "doubtful" | "torn";
  /** The same as what the bucket has of this step: it was captured or restored here. */
  isKnown: boolean;
}

export interface ResumeInput {
  /** Newest complete checkpoint in the bucket; null: there is none, and that is certain. */
  newest: { checkpointId: string; step: number; capturedAt: number } | null;
  /** This node has been the writer since it wrote what lies here. */
  isSameEpoch: boolean;
  /** This run was never written from here before: what lies here is from before Tidemark. */
  isFirstStart: boolean;
  local: readonly LocalCheckpoint[];
}

export interface Resume {
  from:
    | { kind: "local"; path: string; step: number }
    | { kind: "restore"; checkpointId: string; step: number; capturedAt: number }
    /** There is none anywhere. */
    | { kind: "start" };
  setAside: LocalCheckpoint[];
}

const highest = (all: readonly LocalCheckpoint[]): LocalCheckpoint | null =>
  all.reduce<LocalCheckpoint | null>((found, one) => (found === null || one.step > found.step ? one : found), null);

export function chooseResume({ newest, isSameEpoch, isFirstStart, local }: ResumeInput): Resume {
  const isTrusted = (one: LocalCheckpoint): boolean =>
    one.state === "whole" &&
    (newest === null || isSameEpoch ? one.step >= (newest?.step ?? 0) : one.isKnown && one.step === newest.step);
  // From before Tidemark: without us the program would have gone on from it.
  const isBelieved = (one: LocalCheckpoint): boolean => newest === null && isFirstStart && one.state === "doubtful";
  const best = highest(local.filter((one) => isTrusted(one) || isBelieved(one)));
  const from: Resume["from"] =
    best !== null
      ? { kind: "local", path: best.path, step: best.step }
      : newest !== null
        ? { kind: "restore", checkpointId: newest.checkpointId, step: newest.step, capturedAt: newest.capturedAt }
        : { kind: "start" };
  const above = from.kind === "start" ? -1 : from.step;
  // A torn one of the same step lies where the restored one will lie; it is replaced there.
  return { from, setAside: local.filter(({ step }) => step > above) };
}

import type { LineBranch } from "../checkpoint/line-branch.ts";
import { stepWords } from "../checkpoint/step-words.ts";

/** Words about new lines of training, and about restored checkpoints that a program passed over. Imports no zod: pages load it. */

const pointWords = ({ epoch, step: at, isByTime }: NonNullable<LineBranch["from"]>): string =>
  `${stepWords(at, isByTime === true ? "time" : undefined)} of epoch ${epoch}`;

/** Says from where a line branches off, to follow "epoch 4 is a new line: ". */
export function branchWords({ from, after, step: first }: LineBranch): string {
  const start = `it counts from ${stepWords(first)}`;
  if (from === null) return `${start}, after ${pointWords(after)}`;
  const isSame = from.epoch === after.epoch && from.step === after.step;
  return `${start}; its program was given ${pointWords(from)}${isSame ? "" : `, after ${pointWords(after)}`}`;
}

/** Says that a program did not go on from what it was given. `from`: step of the checkpoint that it went on from; null: none. */
export const beganElsewhereWords = (about: { given: number; from: number | null; path: string | null }): string =>
  `was given ${stepWords(about.given)} and began ${about.from === null ? "at the beginning" : `at ${stepWords(about.from)}`}: it looks for its checkpoint somewhere else${about.path === null ? "" : ` than ${about.path}`}`;

/** A restored checkpoint from which the program did not go on. */
export interface PassedOver {
  /** The checkpoint that the program was given. */
  given: { epoch: number; step: number };
  /** Epoch that the program wrote when it began; a line of its own has a later one. */
  epoch: number;
  /** When that was seen, epoch ms. */
  at: number;
  /** The program has begun a line, so that nothing more is written in the epoch. */
  isLine: boolean;
}

/** A complete checkpoint from which a run can go on. `at`: when it was captured, epoch ms. */
export interface Reached {
  epoch: number;
  step: number;
  at: number;
}

/**
 * Returns those of the passed-over checkpoints that matter still: no later checkpoint of the run has reached their step. While
 * one matters, nothing up to its epoch is removed, because a person may want to go back to it.
 */
export const stillPassedOver = <One extends PassedOver>(all: readonly One[], reached: readonly Reached[]): One[] =>
  all.filter(
    ({ given, epoch, at, isLine }) =>
      !reached.some(
        (one) =>
          (one.epoch > epoch && one.step >= given.step) ||
          (one.epoch === epoch && !isLine && one.step > given.step && one.at > at),
      ),
  );

/** Returns whether a checkpoint of an epoch is of a line that its program passed over, or of what that line came from. */
export const isUpTo = (all: readonly Pick<PassedOver, "given">[], epoch: number): boolean =>
  epoch > 0 && all.some(({ given }) => epoch <= given.epoch);

/** Returns the restored checkpoint that a line passed over; null: it was given none, or one without a step. */
export const passedOverBy = (branch: LineBranch | null | undefined, at: number): PassedOver | null =>
  branch?.from == null || branch.from.isByTime === true
    ? null
    : { given: { epoch: branch.from.epoch, step: branch.from.step }, epoch: branch.after.epoch, at, isLine: true };

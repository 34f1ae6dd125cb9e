import type { LineBranch } from "../checkpoint/line-branch.ts";
import { stepWords } from "../checkpoint/step-words.ts";

/** Words about new lines of training, and about restored checkpoints that a program passed over. Imports no zod: pages load it. */

const pointWords = ({ epoch, step: at, isByTime }: NonNullable<LineBranch["from"]>): string =>
  `${stepWords(at, isByTime === true ? "time" : undefined)} of epoch ${epoch}`;

/** Says from where a line branches off, to follow "epoch 4 is a new line: ". */
export function branchWords({ from, after, step: first }: LineBranch): string {
  const start = `it counts from ${stepWords(first)}`;
  if (from === null) return `${start}, after ${pointWords(after)}`;
  // If the program had written nothing, the run had reached the step that the program got.
  const isSame = from.step === after.step;
  return `${start}; its program was given ${pointWords(from)}${isSame ? "" : `, after ${pointWords(after)}`}`;
}

/**
 * Says that a program did not continue from what it was given. `from`: step of the checkpoint that it went on from; null: none. `path`:
 * the place of the checkpoint that the program got; `wrote`: the place of the first one that it wrote. Null: not known.
 */
export function beganElsewhereWords(about: {
  given: number;
  from: number | null;
  path: string | null;
  wrote?: string | null | undefined;
}): string {
  const { given, from, path, wrote = null } = about;
  const start = `was given ${stepWords(given)} and began ${from === null ? "at the beginning" : `at ${stepWords(from)}`}`;
  if (path === null) return `${start}: it looks for its checkpoint somewhere else`;
  return `${start}: ${wrote === null ? `it looks for its checkpoint somewhere else than ${path}` : looksWords(path, wrote)}`;
}

/** Says where a program looks for its checkpoints, as far as the place and name of the one that it wrote show. */
function looksWords(path: string, wrote: string): string {
  const [given, own] = [path.split("/"), wrote.split("/")];
  const shared = given.findIndex((name, at) => name !== own[at]);
  // The same place was written again.
  if (shared === -1) return `it wrote over ${path}, so it most likely loads no checkpoint`;
  const [givenRest, ownRest] = [given.slice(shared).join("/"), own.slice(shared).join("/")];
  if (shared < given.length - 1 || shared < own.length - 1)
    return `it writes to ${ownRest} and most likely looks there; what was restored lies at ${givenRest}, in ${given.slice(0, shared).join("/") || "/"}`;
  if (formOf(givenRest) !== formOf(ownRest))
    return `it names its checkpoints like ${ownRest} and most likely looks for such names; what was restored is ${path}`;
  return `it wrote ${ownRest} beside ${path}, with a name of the same form, so it most likely loads no checkpoint`;
}

/** Returns a name with each number in it replaced, so that names of one saver are equal. */
const formOf = (name: string): string => name.replaceAll(/\d+(?:\.\d+)?(?:e[-+]?\d+)?/g, "0");

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

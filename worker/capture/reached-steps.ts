import type { StepSource } from "#protocol/checkpoint/place.ts";
import { isTimeStep, stepSourceOf } from "#protocol/checkpoint/step-words.ts";
import type { Capture } from "./capture.ts";

/**
 * The highest step that was captured of each run in its last epoch. A lower one begins a new line of training, also after a restart
 * of the worker, when the captures have long ended. Pure.
 */
export interface ReachedStep {
  run: string;
  /** Number of the watched folder: each has a sequence of steps of its own. */
  root: number;
  step: number;
  at: number;
  epoch: number;
  source?: StepSource | undefined;
}

/** Times of writing are kept apart: each is higher than any step that was counted. */
const keyOf = (one: ReachedStep): string => `${one.run} ${one.root}${isTimeStep(one) ? " by time" : ""}`;

/** Returns the step of a capture; null for one that belongs to no epoch yet, and for a final model. */
export function reachedOf({ run, step, epoch, capturedAt: at, role, place }: Capture): ReachedStep | null {
  if (epoch === null || role !== undefined) return null;
  const source = stepSourceOf(place);
  return { run, root: place?.root?.index ?? 0, step, at, epoch, ...(source !== undefined && { source }) };
}

/** Notes a step, unless a higher one of the same epoch or a later epoch is known. */
export function noteReached({ reached }: { reached: Map<string, ReachedStep> }, one: ReachedStep | null): void {
  if (one === null) return;
  const { run, root, step, at, epoch, source } = one;
  const known = reached.get(keyOf(one));
  if (known !== undefined && (known.epoch > epoch || (known.epoch === epoch && known.step >= step))) return;
  reached.set(keyOf(one), { run, root, step, at, epoch, ...(source !== undefined && { source }) });
}

/** Returns the highest steps of a watched folder in an epoch: the one that was counted and the one by time, where known. */
export const reachedIn = (
  { reached }: { reached: ReadonlyMap<string, ReachedStep> },
  of: Pick<ReachedStep, "run" | "root" | "epoch">,
): ReachedStep[] =>
  [...reached.values()].filter(({ run, root, epoch }) => run === of.run && root === of.root && epoch === of.epoch);

/** All steps of a run, epoch by epoch, in a compact form of about five bytes a step, so that they fit in one answer. */

export interface TimelineLane {
  epoch: number;
  /** Name of the node that wrote the epoch; empty for checkpoints of another tool. */
  nodeName: string;
  /** Checkpoint from which the epoch continued; null when it started fresh. */
  parent: { epoch: number; step: number } | null;
  /** The first step, followed by the difference from each step to the next. */
  steps: number[];
  /** One letter for each step: `c` complete, `u` uploading, `t` torn. */
  states: string;
  /** Cost of the interruption before the epoch, from the record of lost work; null when nothing was lost. */
  lost: { steps: number; ms: number } | null;
}

export interface RunTimeline {
  /** Oldest epoch first. */
  lanes: TimelineLane[];
  /** Number of older checkpoints that are left out. */
  omitted: number;
}

/** Largest number of checkpoints in a timeline; the newest ones are kept. */
export const MOST_IN_TIMELINE = 20_000;

/** Decodes the differences into ascending steps. */
export function stepsOf({ steps }: Pick<TimelineLane, "steps">): number[] {
  let at = 0;
  return steps.map((distance) => (at += distance));
}

/** Encodes ascending steps as differences. */
export const distancesOf = (steps: readonly number[]): number[] =>
  steps.map((step, index) => step - (steps[index - 1] ?? 0));

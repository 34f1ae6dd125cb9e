/** All that a run wrote, epoch by epoch, small enough to come at once: some five bytes for a step. */

export interface TimelineLane {
  epoch: number;
  /** Who wrote it; empty for what another tool wrote. */
  nodeName: string;
  /** Where it went on from, or null when it began anew. */
  parent: { epoch: number; step: number } | null;
  /** The first step, and from each to the next. */
  steps: number[];
  /** One letter for each step: `c` complete, `u` uploading, `t` torn. */
  states: string;
  /** What its interruption cost, as the ledger has it; null where nothing was lost. */
  lost: { steps: number; ms: number } | null;
}

export interface RunTimeline {
  /** Oldest epoch first. */
  lanes: TimelineLane[];
  /** Older checkpoints that are not in it. */
  omitted: number;
}

/** The most checkpoints it has, the newest ones. */
export const MOST_IN_TIMELINE = 20_000;

/** Steps in full, ascending. */
export function stepsOf({ steps }: Pick<TimelineLane, "steps">): number[] {
  let at = 0;
  return steps.map((distance) => (at += distance));
}

/** Ascending steps as they are sent. */
export const distancesOf = (steps: readonly number[]): number[] =>
  steps.map((step, index) => step - (steps[index - 1] ?? 0));

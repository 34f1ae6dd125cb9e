import type { JobAttemptRow } from "#protocol/jobs/job-views.ts";

/** Places attempts on one scale of steps. */

/** A part of the scale, in percent of its width. */
export interface AttemptBar {
  /** From where the attempt began to its last known step. */
  from: number;
  to: number;
  /** The newest safe step; null when the attempt made none. */
  safe: number | null;
}

type Steps = Pick<JobAttemptRow, "fromStep" | "toStep" | "safeStep">;

/** Returns the highest step that any of these attempts reached or started from; 0 when none is known. */
export const lastStepOf = (attempts: readonly Steps[]): number =>
  Math.max(0, ...attempts.flatMap(({ fromStep, toStep, safeStep }) => [fromStep ?? 0, toStep ?? 0, safeStep ?? 0]));

/** Returns the bar of an attempt on a scale from 0 to `lastStep`; null when no step of it is known. */
export function barOf({ fromStep, toStep, safeStep }: Steps, lastStep: number): AttemptBar | null {
  if (lastStep <= 0 || (fromStep === null && toStep === null && safeStep === null)) return null;
  const percent = (step: number): number => (100 * Math.min(step, lastStep)) / lastStep;
  const from = fromStep ?? 0;
  const to = Math.max(from, toStep ?? from, safeStep ?? from);
  return { from: percent(from), to: percent(to), safe: safeStep === null ? null : percent(safeStep) };
}

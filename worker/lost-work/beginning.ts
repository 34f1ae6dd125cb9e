/** A training step, and when it was reached (epoch ms). */
export interface Point {
  step: number;
  at: number;
}

const FIRST_TIME_STEP = 1_000_000_000;
const DAY_MS = 86_400_000;

/**
 * Tells whether a step stands for the time of writing, in seconds since 1970: that of a checkpoint whose name and content say no
 * step. It cannot be compared with steps of training.
 */
export const isTimeStep = ({ step, at }: Point): boolean =>
  step >= FIRST_TIME_STEP && Math.abs(step * 1_000 - at) < DAY_MS;

/** Checkpoint from which this start of a program continues, and the checkpoints on its disk. */
export interface Beginning {
  epoch: number;
  /** The checkpoint that the program was told to resume from. */
  given: Point;
  /** Checkpoints on this disk when the program started, in any order. */
  local: readonly Point[];
  /** Epoch ms. */
  startedAt: number;
}

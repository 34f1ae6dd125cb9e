/** A training step, and when it was reached (epoch ms). */
export interface Point {
  step: number;
  at: number;
}

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

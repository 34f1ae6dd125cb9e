/** A point of training, and when it was reached: epoch ms. */
export interface Point {
  step: number;
  at: number;
}

/** Where a program was to go on in this life, and what lay on its disk below that. */
export interface Beginning {
  epoch: number;
  /** The checkpoint that it was given. */
  given: Point;
  /** Checkpoints on this disk when it started, any order. */
  local: readonly Point[];
  /** Epoch ms. */
  startedAt: number;
}

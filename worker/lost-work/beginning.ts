import type { StepSource } from "#protocol/checkpoint/place.ts";

/** A training step, and when it was reached (epoch ms). */
export interface Point {
  step: number;
  at: number;
  /** Origin of the step of a checkpoint; absent where nothing recorded it. */
  source?: StepSource | undefined;
}

/** A checkpoint that a program was told to resume from. `epoch`: the one in which it was written. `path`: where it lies. */
export interface Given extends Point {
  epoch: number;
  path: string;
}

/** Checkpoint from which this start of a program continues, and the checkpoints on its disk. */
export interface Beginning {
  epoch: number;
  /** The checkpoint that the program was told to resume from. */
  given: Given;
  /** Checkpoints on this disk when the program started, in any order. */
  local: readonly Point[];
  /** Which of several watched folders of the run holds it; absent: its only one. */
  root?: number | undefined;
  /** Epoch ms. */
  startedAt: number;
  /** Whether the program was seen not to continue from there, or whether that cannot be known: it is not judged again. */
  isElsewhere?: true;
  /** Report that was made on a step that the program said, before it had written a checkpoint. */
  toldByWord?: { fromStep: number | null };
}

import type { CheckpointRole } from "#protocol/checkpoint/checkpoint.ts";
import type { ShownPlace } from "#protocol/checkpoint/place.ts";
import { stepWords, stepSourceOf } from "#protocol/checkpoint/step-words.ts";

/** Returns the checkpoint in words: its run and step, or "the final model of" the run. */
export const checkpointName = (about: {
  run: string;
  step: number;
  role?: CheckpointRole | undefined;
  place?: ShownPlace | undefined;
}): string =>
  about.role === "final-model"
    ? `the final model of ${about.run}`
    : `${about.run} ${stepWords(about.step, stepSourceOf(about.place))}`;

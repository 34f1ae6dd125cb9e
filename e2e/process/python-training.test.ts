import { afterAll, beforeAll, expect, test } from "vitest";
import { killTraining } from "../stage/kill-training.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";

/** A Python program that writes what the real libraries write, killed with its worker. Fifty times each in `npm run prove`. */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

test.each(["replay-trainer", "replay-lightning", "replay-dcp"])(
  "%s: killed at random moments it goes on from a whole checkpoint, and what was lost is known to the step",
  async (kind) => {
    const { problems, losses } = await killTraining(stage, { kind, kills: 4, seed: 11 });
    expect(problems).toEqual([]);
    expect(losses).toBeGreaterThan(0);
  },
);

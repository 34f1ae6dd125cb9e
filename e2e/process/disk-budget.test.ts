import { afterAll, beforeAll, expect, test } from "vitest";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { overproduce } from "../stage/overproduce.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const MB = 1_000_000;

test("five times the budget is produced: it is never exceeded, the newest becomes safe, the rest is on record", async () => {
  const budgetBytes = 20 * MB;
  const outcome = await overproduce(stage, {
    name: "too-much",
    checkpoints: 20,
    checkpointBytes: 5 * MB,
    budgetBytes,
    upBytesPerSecond: 4 * MB,
  });
  expect(outcome.mostHeldBytes).toBeLessThanOrEqual(budgetBytes);
  expect(outcome.mostHeldBytes).toBeGreaterThan(5 * MB);
  expect(outcome.newestSafe).toBe(200);
  const steps = Array.from({ length: 20 }, (_, at) => (at + 1) * 10);
  const ends = steps.map((step) => ({ step, end: outcome.ends.get(step) ?? "not told" }));
  expect(ends.filter(({ end }) => end !== "safe" && end !== "superseded")).toEqual([]);
  expect([...outcome.ends.values()].filter((end) => end === "safe").length).toBeGreaterThan(1);
});

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { overproduce } from "../stage/overproduce.ts";
import { IMPLEMENTATIONS, stageOver, type Staged } from "../stage/stage-over.ts";

const MB = 1_000_000;

describe.each(IMPLEMENTATIONS)("over %s", (implementation) => {
  let staged: Staged;
  beforeAll(async () => {
    staged = await stageOver(implementation);
  });
  afterAll(() => staged.close());

  test("five times the budget is produced: it is never exceeded, the newest becomes safe, the rest is on record", async () => {
    const budgetBytes = 20 * MB;
    const outcome = await overproduce(staged, {
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
});

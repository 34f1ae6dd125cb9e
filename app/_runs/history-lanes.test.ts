import { expect, test } from "vitest";
import { distancesOf, type TimelineLane } from "#protocol/checkpoint/run-timeline.ts";
import { historyLanes } from "./history-lanes.ts";

const lane = (epoch: number, steps: number[], more: Partial<TimelineLane> = {}): TimelineLane => ({
  epoch,
  nodeName: `gpu-${epoch}`,
  parent: null,
  steps: distancesOf(steps),
  states: "c".repeat(steps.length),
  lost: null,
  ...more,
});
const range = (from: number, to: number, by: number): number[] =>
  Array.from({ length: Math.floor((to - from) / by) + 1 }, (_, index) => from + index * by);

test("five thousand steps without a fault are one bar", () => {
  const { lanes } = historyLanes({
    timeline: { lanes: [lane(1, range(1, 5_000, 1))], omitted: 0 },
    width: 1_000,
    most: 8,
  });
  expect(lanes[0]?.bars).toEqual([{ x: 0, width: 1_000, tone: "safe" }]);
  expect(lanes[0]?.summary).toBe("epoch 1 · gpu-1: steps 1 to 5,000, 5,000 complete");
});

test("one torn step among five thousand is seen", () => {
  const steps = range(1, 5_000, 1);
  const states = `${"c".repeat(2_500)}t${"c".repeat(2_499)}`;
  const { lanes } = historyLanes({
    timeline: { lanes: [lane(1, steps, { states })], omitted: 0 },
    width: 1_000,
    most: 8,
  });
  expect(lanes[0]?.bars.map(({ tone }) => tone)).toEqual(["safe", "risk", "safe"]);
});

test("a hole far longer than the usual distance is a gap, a regular run has none", () => {
  const steps = [...range(100, 1_000, 100), ...range(5_000, 6_000, 100)];
  const found = historyLanes({ timeline: { lanes: [lane(1, steps)], omitted: 0 }, width: 600, most: 8 });
  expect(found.lanes[0]?.gaps.map(({ words }) => words)).toEqual(["nothing between step 1,000 and 5,000"]);
});

test("what was written beyond the step that the next epoch went on from is marked, with what it cost", () => {
  const lanes = [
    lane(1, range(100, 1_000, 100), { states: "ccccccccut", lost: { steps: 200, ms: 360_000 } }),
    lane(2, range(900, 2_000, 100), { parent: { epoch: 1, step: 800 } }),
  ];
  const found = historyLanes({ timeline: { lanes, omitted: 0 }, width: 1_902, most: 8 });
  expect(found.lanes[0]?.lost).toMatchObject({ x: 700, width: 200, words: "lost 200 steps, 6 min" });
  expect(found.lanes[0]?.summary).toContain("8 complete, 2 lost");
  expect(found.lanes[1]?.lost).toBeNull();
});

test("the newest epochs have lanes, older ones are counted", () => {
  const lanes = Array.from({ length: 12 }, (_, index) => lane(index + 1, [index * 10, index * 10 + 5]));
  const found = historyLanes({ timeline: { lanes, omitted: 0 }, width: 100, most: 8 });
  expect(found.lanes.map(({ epoch }) => epoch)).toEqual([5, 6, 7, 8, 9, 10, 11, 12]);
  expect(found).toMatchObject({ omitted: 4, first: 40, last: 115 });
});

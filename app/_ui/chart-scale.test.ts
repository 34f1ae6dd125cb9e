import { expect, test } from "vitest";
import { brokenArea, brokenPath, nearestIndex, ticksFor, timeTicks } from "./chart-scale.ts";

test("ticks are round and the last one is not below the largest value", () => {
  expect(ticksFor(17, 10)).toEqual([0, 10, 20]);
  expect(ticksFor(20, 10)).toEqual([0, 10, 20]);
  expect(ticksFor(38, 10)).toEqual([0, 20, 40]);
  expect(ticksFor(3 * 1024 ** 3, 1024)).toEqual([0, 2 * 1024 ** 3, 4 * 1024 ** 3]);
  expect(ticksFor(0, 10)).toEqual([0, 1]);
});

test("time ticks fall on whole local steps and are not too many", () => {
  const from = new Date(2026, 4, 3, 13, 3).getTime();
  const ticks = timeTicks(from, from + 3_600_000, 6);
  expect(ticks.length).toBeLessThanOrEqual(7);
  expect(ticks.map((at) => new Date(at).getMinutes() % 10)).toEqual(ticks.map(() => 0));
});

test("a hole in the samples breaks the line", () => {
  const points = [0, 10, 20, 90, 100].map((x) => ({ x, y: 5 }));
  expect(brokenPath(points, 30).match(/M/g)).toHaveLength(2);
  expect(brokenArea(points, 30, 50).match(/Z/g)).toHaveLength(2);
});

test("the nearest sample is found at both ends and between", () => {
  expect(nearestIndex([10, 20, 30], 0)).toBe(0);
  expect(nearestIndex([10, 20, 30], 24)).toBe(1);
  expect(nearestIndex([10, 20, 30], 26)).toBe(2);
  expect(nearestIndex([10, 20, 30], 99)).toBe(2);
  expect(nearestIndex([], 1)).toBe(-1);
});

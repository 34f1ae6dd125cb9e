import { afterEach, describe, expect, test } from "vitest";
import {
  alonePoints,
  brokenArea,
  brokenPath,
  nearestIndex,
  stepTicks,
  ticksBetween,
  ticksFor,
  timeTicks,
} from "./chart-scale.ts";

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

describe("where clocks are put on and back", () => {
  const before = process.env.TZ;
  afterEach(() => {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  });

  test.each([
    ["back, a day of 25 hours", "2026-10-22T22:00:00Z"],
    ["on, a day of 23 hours", "2027-03-25T23:00:00Z"],
  ])("%s: each day has one tick, at its midnight", (_, start) => {
    process.env.TZ = "Europe/Berlin";
    const from = Date.parse(start);
    const ticks = timeTicks(from, from + 7 * 86_400_000, 8);
    expect(ticks.map((at) => new Date(at).getHours())).toEqual(ticks.map(() => 0));
    expect(new Set(ticks.map((at) => new Date(at).getDate())).size).toBe(ticks.length);
    expect(ticks.length).toBeGreaterThanOrEqual(7);
  });

  test.each([
    ["west of Greenwich", "America/Santiago", "2026-09-03T04:00:00Z"],
    ["east of it", "Africa/Cairo", "2026-04-21T22:00:00Z"],
  ])("a day without a midnight (%s) has its tick at its first hour", (_, zone, start) => {
    process.env.TZ = zone;
    const from = Date.parse(start);
    const ticks = timeTicks(from, from + 7 * 86_400_000, 8).map((at) => new Date(at));
    expect(new Set(ticks.map((at) => at.getDate())).size).toBe(ticks.length);
    expect(ticks.map((at) => at.getHours()).filter((hour) => hour !== 0)).toEqual([1]);
  });

  test("the hour that is skipped has no tick of its own, and ticks only rise", () => {
    process.env.TZ = "Europe/Berlin";
    const from = Date.parse("2027-03-28T00:00:00Z");
    const ticks = timeTicks(from, from + 4 * 3_600_000, 6);
    expect(ticks.map((at) => new Date(at).getHours())).toEqual([1, 3, 4, 5, 6]);
  });
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

test("ticks of values that do not begin at 0 are round and enclose them", () => {
  expect(ticksBetween(1.21, 1.87)).toEqual([1, 1.5, 2]);
  expect(ticksBetween(-3, 4)).toEqual([-5, 0, 5]);
  expect(ticksBetween(2, 2)).toEqual([2, 3]);
  expect(ticksBetween(0, 0)).toEqual([0, 0.5]);
});

test("ticks of steps are whole and not too many", () => {
  expect(stepTicks(0, 10_000, 6)).toEqual([0, 2_000, 4_000, 6_000, 8_000, 10_000]);
  expect(stepTicks(6, 8, 6)).toEqual([6, 7, 8]);
  expect(stepTicks(7, 7, 6)).toEqual([7]);
});

test("points that no line reaches are known, so that a chart with one sample shows it", () => {
  const points = [0, 10, 90, 200, 210].map((x) => ({ x, y: 5 }));
  expect(alonePoints(points, 30).map(({ x }) => x)).toEqual([90]);
  expect(alonePoints([{ x: 3, y: 1 }], Infinity)).toEqual([{ x: 3, y: 1 }]);
});

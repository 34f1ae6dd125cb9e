import { expect, test } from "vitest";
import { barOf, lastStepOf } from "./attempt-bars.ts";

const attempt = (fromStep: number | null, toStep: number | null, safeStep: number | null) => ({
  fromStep,
  toStep,
  safeStep,
});

test("attempts lie on one scale, each from where it began to where it came", () => {
  const all = [attempt(null, 50, 40), attempt(40, 200, 180)];
  const last = lastStepOf(all);
  expect(last).toBe(200);
  expect(all.map((one) => barOf(one, last))).toEqual([
    { from: 0, to: 25, safe: 20 },
    { from: 20, to: 100, safe: 90 },
  ]);
});

test("one that began and reported nothing is a point; without any step there is nothing to draw", () => {
  expect(barOf(attempt(100, null, null), 200)).toEqual({ from: 50, to: 50, safe: null });
  expect(barOf(attempt(null, null, null), 200)).toBeNull();
  expect(barOf(attempt(null, null, null), lastStepOf([]))).toBeNull();
});

test("a safe step above the last reported one counts as reached", () => {
  expect(barOf(attempt(0, 80, 100), 100)).toEqual({ from: 0, to: 100, safe: 100 });
});

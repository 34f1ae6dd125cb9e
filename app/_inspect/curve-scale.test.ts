import { expect, it } from "vitest";
import { pointsWith, rangeOf, ticksWithin, valueWords } from "./curve-scale.ts";

const point = (step: number, loss: number | null, evalLoss: number | null = null) => ({
  step,
  epoch: null,
  loss,
  evalLoss,
  learningRate: null,
  gradNorm: null,
});

it("takes what a log has at each step, and nothing for what it has not", () => {
  const points = [point(1, 2.5), point(2, null, 2.2), point(3, 1.5)];
  expect(pointsWith(points, "loss")).toEqual([
    { step: 1, value: 2.5 },
    { step: 3, value: 1.5 },
  ]);
  expect(pointsWith(points, "evalLoss")).toEqual([{ step: 2, value: 2.2 }]);
  expect(rangeOf(points.map(({ loss }) => loss))).toEqual({ low: 1.5, high: 2.5 });
  expect(rangeOf([null, Number.NaN])).toBeNull();
});

it.each([
  [0, 1],
  [1.49, 2.51],
  [0, 0.00005],
  [-3, 12_345],
])("has three to seven round ticks between %d and %d", (low, high) => {
  const ticks = ticksWithin({ low, high });
  expect(ticks.length).toBeGreaterThanOrEqual(3);
  expect(ticks.length).toBeLessThanOrEqual(7);
  for (const tick of ticks) expect(tick >= low - 1e-9 && tick <= high + 1e-9).toBe(true);
});

it("writes small numbers as programs do", () => {
  expect([0.00005, 1.41234, 0, null].map(valueWords)).toEqual(["5.00e-5", "1.412", "0", "–"]);
});

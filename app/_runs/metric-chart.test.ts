import { expect, test } from "vitest";
import type { RunMetric } from "#protocol/checkpoint/run-metrics.ts";
import { chartOf, checkpointAt, metricValue, stepsShown } from "./metric-chart.ts";

const loss: RunMetric = {
  name: "loss",
  lines: [
    { epoch: 2, steps: [200, 300], values: [1.5, 1.25], ids: ["b200", "b300"] },
    { epoch: 1, steps: [100, 200], values: [2, 1.75], ids: ["a100", "a200"] },
  ],
};

test("lines share their steps, and have no value where they have no checkpoint; the newest is drawn last", () => {
  const { times, series } = chartOf(loss);
  expect(times).toEqual([100, 200, 300]);
  expect(series.map(({ label, tone, values }) => [label, tone, values])).toEqual([
    ["epoch 1", "quiet", [2, 1.75, null]],
    ["epoch 2", "safe", [null, 1.5, 1.25]],
  ]);
});

test("a point opens the checkpoint of the newest epoch that has its step", () => {
  expect([100, 200, 300, 250].map((step) => checkpointAt(loss, step))).toEqual(["a100", "b200", "b300", null]);
});

test("all charts show the same steps: those that were chosen, or from the first to the last of all", () => {
  expect(stepsShown([loss], null)).toEqual({ from: 100, to: 300 });
  expect(stepsShown([loss], { from: 5, to: 9 })).toEqual({ from: 5, to: 9 });
  const one = { name: "a", lines: [{ epoch: 1, steps: [7], values: [1], ids: ["x"] }] };
  expect(stepsShown([one], null)).toEqual({ from: 6, to: 8 });
  expect(stepsShown([], null)).toEqual({ from: 0, to: 1 });
});

test("values are written short, small ones with their power", () => {
  expect([1.41234, 3, 2e-5, 12_345_678, 0].map(metricValue)).toEqual(["1.412", "3", "2.0e-5", "1.2e+7", "0"]);
});

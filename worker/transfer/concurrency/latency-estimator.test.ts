import { expect, test } from "vitest";
import { createLatencyEstimator } from "./latency-estimator.ts";

test("how long a part takes is the middle of those of its length, as soon as three are known", () => {
  const memory = createLatencyEstimator({ totalBytes: 0 });
  memory.landed(100, 900);
  memory.landed(100, 100);
  memory.landed(70, 5);
  expect(memory.usualMs(100)).toBeNull();
  memory.landed(100, 300);
  expect(memory.usualMs(100)).toBe(300);
  expect(memory.usualMs(70)).toBeNull();
});

test("only the last ones count", () => {
  const memory = createLatencyEstimator({ totalBytes: 0 });
  for (let count = 0; count < 40; count++) memory.landed(100, 10);
  for (let count = 0; count < 32; count++) memory.landed(100, 500);
  expect(memory.usualMs(100)).toBe(500);
});

test("the rate of the link is that of the last second and a half, and the best one is kept", () => {
  const meter = { totalBytes: 0 };
  const memory = createLatencyEstimator(meter);
  const move = (fromMs: number, toMs: number, bytesPerSecond: number) => {
    let rate = 0;
    for (let at = fromMs; at <= toMs; at += 250) {
      meter.totalBytes += bytesPerSecond / 4;
      rate = memory.rateOfLink(at);
    }
    return rate;
  };
  // Buffers fill.
  expect(move(0, 2_750, 9_000)).toBe(Infinity);
  expect(memory.bestRate).toBe(0);
  expect(move(3_000, 5_000, 2_000)).toBe(2_000);
  const best = memory.bestRate;
  expect(best).toBeGreaterThanOrEqual(2_000);
  expect(move(5_250, 7_000, 400)).toBe(400);
  expect(memory.bestRate).toBe(best);
});

test("after a rest what was before it is no part of the rate", () => {
  const meter = { totalBytes: 0 };
  const memory = createLatencyEstimator(meter);
  for (let at = 0; at <= 4_000; at += 250) {
    meter.totalBytes += 1_000;
    memory.rateOfLink(at);
  }
  expect(memory.rateOfLink(60_000)).toBe(Infinity);
  meter.totalBytes += 500;
  memory.rateOfLink(60_500);
  meter.totalBytes += 500;
  expect(memory.rateOfLink(61_000)).toBe(1_000);
});

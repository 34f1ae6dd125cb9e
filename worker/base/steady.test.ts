import { expect, test } from "vitest";
import { steadyRate, type Reading } from "./steady.ts";

/** Readings every 100 ms of a link whose rate at a moment (ms) is given, in bytes per second. */
function readings(rateAt: (ms: number) => number, forMs = 10_000): Reading[] {
  let bytes = 0;
  const seen: Reading[] = [{ atMs: 500, bytes: 0 }];
  for (let ms = 10; ms <= forMs; ms += 10) {
    bytes += rateAt(ms) / 100;
    if (ms % 100 === 0) seen.push({ atMs: 500 + ms, bytes });
  }
  return seen;
}

const rateOf = (rateAt: (ms: number) => number, forMs?: number) => steadyRate(readings(rateAt, forMs))?.bytesPerSecond;

test("slow start does not count, and how long it took is told", () => {
  const slowStart = (ms: number) => Math.min(2_500_000, 50_000 * 2 ** (ms / 300));
  const steady = steadyRate(readings(slowStart));
  expect(steady?.bytesPerSecond).toBeCloseTo(2_500_000, -4);
  expect(steady?.isSteady).toBe(true);
  expect(steady?.rampMs).toBeGreaterThanOrEqual(1_250);
  expect(steady?.rampMs).toBeLessThanOrEqual(2_250);
});

test("nor do buffers that fill at first", () => {
  expect(rateOf((ms) => (ms < 200 ? 40_000_000 : 600_000))).toBeCloseTo(600_000, -4);
});

test("bytes that come in lumps do not move the rate by a lump", () => {
  // A third of a megabyte every 1.6 seconds, in a fifth of a second.
  const lumps = (ms: number) => (ms % 1_600 < 200 ? 1_600_000 : 0);
  expect(Math.abs((rateOf(lumps) ?? 0) / 200_000 - 1)).toBeLessThan(0.1);
});

test("noise is averaged out", () => {
  let state = 1;
  const noise = () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
  expect(Math.abs((rateOf(() => 8_000_000 * (0.5 + noise())) ?? 0) / 8_000_000 - 1)).toBeLessThan(0.03);
});

test("a rate that still grows at the end is not called steady", () => {
  expect(steadyRate(readings((ms) => 100 * ms))?.isSteady).toBe(false);
  expect(steadyRate(readings((ms) => 10_000 * 2 ** (ms / 1_000)))?.isSteady).toBe(false);
  expect(steadyRate(readings(() => 1_000_000))?.isSteady).toBe(true);
});

test("a link that went down in the middle is not called steady", () => {
  expect(steadyRate(readings((ms) => (ms < 6_500 ? 2_000_000 : 0)))?.isSteady).not.toBe(true);
});

test("where nothing moved, or for a moment only, there is no rate", () => {
  expect(steadyRate([])).toBeNull();
  expect(rateOf(() => 0)).toBeUndefined();
  expect(rateOf(() => 1_000_000, 1_000)).toBeUndefined();
});

import { describe, expect, test } from "vitest";
import { clockCorrectionMs, clockOffsetMs, measureClock, sayClock, type ClockBounds } from "./clock-skew.ts";

const NOON = Date.UTC(2026, 10, 21, 12);
const HOUR = 3_600_000;
/** One exchange with a store whose clock is `offsetMs` from ours. */
const exchange = (known: ClockBounds | null, offsetMs: number, more: { at?: number; tripMs?: number } = {}) => {
  const { at = NOON, tripMs = 120 } = more;
  const date = new Date(at + tripMs / 2 + offsetMs).toUTCString();
  return measureClock(known, { sentAtMs: at, receivedAtMs: at + tripMs, date });
};

describe("the clock's offset", () => {
  test.each([0, 2 * HOUR, -2 * HOUR, 90_000])("of %i ms is found within a second from one answer", (offsetMs) => {
    const known = exchange(null, offsetMs);
    expect(Math.abs(clockOffsetMs(known ?? { leastMs: 0, mostMs: 0 }) - offsetMs)).toBeLessThan(1000);
  });

  test("becomes exact with answers at other moments of a second", () => {
    let known: ClockBounds | null = null;
    for (let turn = 0; turn < 20; turn++) known = exchange(known, 5400_250, { at: NOON + turn * 1_050 + 7 });
    expect((known?.mostMs ?? 0) - (known?.leastMs ?? 0)).toBeLessThan(200);
    expect(Math.abs(clockOffsetMs(known ?? { leastMs: 0, mostMs: 0 }) - 5400_250)).toBeLessThan(150);
  });

  test("is measured anew when a clock was set", () => {
    const before = exchange(null, 2 * HOUR);
    const after = exchange(before, 0, { at: NOON + 60_000 });
    expect(clockCorrectionMs(before)).toBeGreaterThan(HOUR);
    expect(clockCorrectionMs(after)).toBe(0);
  });

  test("is left as it was by an answer without a date, one that took too long, and one from before it was asked", () => {
    const known = exchange(null, 2 * HOUR);
    expect(measureClock(known, { sentAtMs: NOON, receivedAtMs: NOON + 100, date: undefined })).toBe(known);
    expect(measureClock(known, { sentAtMs: NOON, receivedAtMs: NOON + 100, date: "soon" })).toBe(known);
    expect(exchange(known, 0, { tripMs: 40_000 })).toBe(known);
    expect(exchange(known, 0, { tripMs: -500 })).toBe(known);
  });
});

describe("the correction", () => {
  test("is nothing within a minute, where the offset may be the road's", () => {
    expect(clockCorrectionMs(null)).toBe(0);
    expect(clockCorrectionMs(exchange(null, 55_000))).toBe(0);
    expect(clockCorrectionMs(exchange(null, 61_000, { tripMs: 8000 }))).toBe(0);
  });

  test("is said in words", () => {
    expect(sayClock(exchange(null, -2 * HOUR))).toBe("this machine's clock is 2 h ahead of the store's");
    expect(sayClock(exchange(null, 5 * 60_000))).toBe("this machine's clock is 5 min behind the store's");
    expect(sayClock(exchange(null, 0))).toBeNull();
  });
});

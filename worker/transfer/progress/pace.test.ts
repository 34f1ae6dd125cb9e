import { expect, test } from "vitest";
import { createPace } from "./pace.ts";

/** A link whose rate (bytes per ms) at a moment is given, read every 50 ms. */
function run(rateAt: (ms: number) => number, forMs: number) {
  let nowMs = 7_000;
  const pace = createPace(() => nowMs);
  pace.moved(0);
  for (let ms = 50; ms <= forMs; ms += 50) {
    nowMs = 7_000 + ms;
    pace.moved(rateAt(ms) * 50);
  }
  return pace.read();
}

test("a transfer tells its steady rate apart from its ramp-up", () => {
  const read = run((ms) => (ms <= 3_000 ? 100 : 1_000), 20_000);
  expect(read?.tookMs).toBe(20_000);
  expect(read?.sentBytes).toBe(3_000 * 100 + 17_000 * 1_000);
  expect(read?.steady?.bytesPerSecond).toBeCloseTo(1_000_000, -4);
  expect(read?.steady?.rampMs).toBeGreaterThanOrEqual(2_500);
  expect(read?.steady?.isSteady).toBe(true);
});

test("also when it takes hours", () => {
  const read = run((ms) => (ms <= 60_000 ? 10 : 500), 4 * 3_600_000);
  expect(Math.abs((read?.steady?.bytesPerSecond ?? 0) / 500_000 - 1)).toBeLessThan(0.01);
});

test("a short one has a time and no steady rate, one without a byte neither", () => {
  expect(run(() => 1, 400)).toMatchObject({ tookMs: 400, steady: null });
  expect(createPace(() => 1).read()).toBeNull();
});

test("bytes that were handed over in a moment took as long as the store did to acknowledge them", () => {
  let nowMs = 7_000;
  const pace = createPace(() => nowMs);
  pace.moved(1_000);
  nowMs += 20;
  pace.moved(1_000);
  nowMs += 3_000;
  pace.arrived();
  expect(pace.read()).toMatchObject({ sentBytes: 2_000, tookMs: 3_020 });
});

import { expect, test } from "vitest";
import { createPacer } from "./pacer.ts";

/** A clock whose timers fire late by so much. */
function lateClock(lateMs: number) {
  let at = 0;
  return {
    now: () => at,
    sleep: async (ms: number) => void (at += ms + lateMs),
    idle: (ms: number) => void (at += ms),
  };
}

test("a link carries at the rate it was given although every timer fires late", async () => {
  const clock = lateClock(60);
  const busy = createPacer(clock);
  for (let piece = 0; piece < 100; piece++) await busy(20);
  expect(clock.now()).toBeLessThanOrEqual(100 * 20 + 60);
  expect(clock.now()).toBeGreaterThanOrEqual(99 * 20);
});

test("a link that had nothing to carry is faster for a second at most", async () => {
  const clock = lateClock(0);
  const busy = createPacer(clock);
  await busy(20);
  clock.idle(60_000);
  const from = clock.now();
  for (let piece = 0; piece < 100; piece++) await busy(20);
  expect(clock.now() - from).toBe(1_000);
});

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createSemaphore } from "./semaphore.ts";
import { createIdleLanes } from "./idle-connection-scheduler.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const hold = (semaphore: ReturnType<typeof createSemaphore>) => {
  const held = Promise.withResolvers<undefined>();
  void semaphore.run({ signal: new AbortController().signal, size: "large" }, () => held.promise);
  return held;
};

async function isWoken(about: { width: number; wantsMore: boolean }): Promise<boolean> {
  const semaphore = createSemaphore(about.width);
  hold(semaphore);
  const idle = createIdleLanes({ semaphore }, { isOver: () => false, wantsMore: () => about.wantsMore });
  let woken = false;
  void idle.wait().then(() => {
    woken = true;
  });
  await vi.advanceTimersByTimeAsync(1_000);
  idle.stop();
  return woken;
}

test("where there is room, one looks again", async () => {
  expect(await isWoken({ width: 2, wantsMore: false })).toBe(true);
});

test("where there is none, one gets in line only if another connection would be worth it", async () => {
  expect(await isWoken({ width: 1, wantsMore: false })).toBe(false);
  expect(await isWoken({ width: 1, wantsMore: true })).toBe(true);
});

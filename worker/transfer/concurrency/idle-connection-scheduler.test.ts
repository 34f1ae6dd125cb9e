import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createGate } from "./semaphore.ts";
import { createIdleLanes } from "./idle-connection-scheduler.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const hold = (gate: ReturnType<typeof createGate>) => {
  const held = Promise.withResolvers<undefined>();
  void gate.run({ signal: new AbortController().signal, size: "large" }, () => held.promise);
  return held;
};

async function isWoken(about: { width: number; wantsMore: boolean }): Promise<boolean> {
  const gate = createGate(about.width);
  hold(gate);
  const idle = createIdleLanes({ gate }, { isOver: () => false, wantsMore: () => about.wantsMore });
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

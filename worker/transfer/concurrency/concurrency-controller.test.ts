import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTimerCoalescer } from "#worker/base/timer-coalescer.ts";
import { createSemaphore, type Wants } from "./semaphore.ts";
import { createConcurrencyController } from "./concurrency-controller.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const { signal } = new AbortController();

function createTrial(link: { rttMs: number | null; presentRttMs?: number; partBytes?: number; isHeld?: boolean }) {
  const semaphore = createSemaphore(10);
  const shed: number[] = [];
  const meter = { totalBytes: 0, add: () => undefined, bytesPerSecond: () => 0 };
  const controller = createConcurrencyController({
    clock: { now: () => performance.now() },
    coalescer: createTimerCoalescer(),
    semaphore,
    meter,
    httpClient: { rttMs: () => link.rttMs, measureRtt: () => Promise.resolve(link.presentRttMs ?? link.rttMs) },
    limits: { first: 10, ramp: 24, smallRamp: 64, most: 96 },
    isHeld: () => link.isHeld === true,
    partBytes: () => link.partBytes ?? null,
    onWidth: () => undefined,
    onTooMany: (width) => void shed.push(width),
  });
  semaphore.onEntered(controller.wake);
  const wait = (count: number, size: Wants["size"]) => {
    for (let index = 0; index < count; index++) {
      void semaphore.run({ signal, size }, () => new Promise<never>(() => undefined));
    }
  };
  return { semaphore, controller, meter, wait, shed };
}

test("on a long link it is as wide as the direction needs before the first byte", async () => {
  const { semaphore, controller, wait } = createTrial({ rttMs: 120 });
  wait(90, "large");
  await vi.advanceTimersByTimeAsync(50);
  expect(semaphore.width).toBe(24);
  controller.stop();
});

test("connections for what comes next are opened as soon as the first round trip shows a long link", async () => {
  const link: { rttMs: number | null } = { rttMs: null };
  const { semaphore, controller, wait } = createTrial(link);
  const opened: number[] = [];
  controller.expect({ count: 90, size: "large" }, (width) => void opened.push(width));
  await vi.advanceTimersByTimeAsync(10);
  expect(opened).toEqual([10]);
  link.rttMs = 120;
  controller.roundTrip();
  // Once for the width, and once for whoever waits for the round trip itself.
  expect(opened).toEqual([10, 24, 24]);
  expect(semaphore.width).toBe(24);
  wait(90, "large");
  await vi.advanceTimersByTimeAsync(100);
  controller.roundTrip();
  // They came: from now on those that wait open their own.
  expect(opened).toEqual([10, 24, 24]);
  controller.stop();
});

test("for many small files that come next there are more than for parts", async () => {
  const { semaphore, controller } = createTrial({ rttMs: 120 });
  const opened: number[] = [];
  controller.expect({ count: 2_000, size: "small" }, (width) => void opened.push(width));
  await vi.advanceTimersByTimeAsync(60);
  expect(opened.at(-1)).toBe(64);
  expect(semaphore.width).toBe(64);
  controller.stop();
});

test("for small files they are opened before anything is known of the link; how many files move is found out as ever", async () => {
  const { semaphore, controller } = createTrial({ rttMs: null });
  const opened: number[] = [];
  controller.expect({ count: 2_000, size: "small" }, (width) => void opened.push(width));
  expect(opened).toEqual([64]);
  expect(semaphore.width).toBe(10);
  controller.expect({ count: 20, size: "small" }, (width) => void opened.push(width));
  expect(opened).toEqual([64, 20]);
  controller.stop();
});

test("a few requests are no reason to open more connections than they need", async () => {
  const { semaphore, controller } = createTrial({ rttMs: 120 });
  controller.expect({ count: 5, size: "large" }, () => undefined);
  controller.roundTrip();
  expect(semaphore.width).toBe(10);
  controller.stop();
});

test("many small files are worth more connections than parts are", async () => {
  const { semaphore, controller, wait } = createTrial({ rttMs: 120 });
  wait(96, "small");
  await vi.advanceTimersByTimeAsync(50);
  expect(semaphore.width).toBe(64);
  controller.stop();
});

test("while nothing is known of the link it stays with the first ones", async () => {
  const { semaphore, controller, wait } = createTrial({ rttMs: null });
  wait(90, "large");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(semaphore.width).toBe(10);
  controller.stop();
});

test("on a link that turns out to be slow and full, parts make room for others", async () => {
  const { semaphore, controller, meter, wait, shed } = createTrial({
    rttMs: 120,
    presentRttMs: 600,
    partBytes: 5 * 1024 * 1024,
  });
  wait(90, "large");
  for (let at = 0; at < 8_000; at += 50) {
    meter.totalBytes += 12_500;
    await vi.advanceTimersByTimeAsync(50);
  }
  expect(shed).toEqual([4]);
  expect(semaphore.width).toBe(4);
  controller.stop();
});

test("a throttling store halves it at once", async () => {
  const { semaphore, controller, wait } = createTrial({ rttMs: 120 });
  wait(90, "large");
  await vi.advanceTimersByTimeAsync(50);
  controller.throttled();
  expect(semaphore.width).toBe(12);
  controller.stop();
});

test("it ends its own timer when nothing moves any more", async () => {
  const { controller } = createTrial({ rttMs: 20 });
  controller.wake();
  await vi.advanceTimersByTimeAsync(100);
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(vi.getTimerCount()).toBe(0);
});

test("a bandwidth limit that holds all of them is no reason for more connections", async () => {
  const link = { rttMs: 120, isHeld: false };
  const { semaphore, controller, meter, wait } = createTrial(link);
  wait(90, "large");
  await vi.advanceTimersByTimeAsync(50);
  expect(semaphore.width).toBe(24);
  link.isHeld = true;
  for (let at = 0; at < 10_000; at += 50) {
    meter.totalBytes += 100_000;
    await vi.advanceTimersByTimeAsync(50);
  }
  expect(semaphore.width).toBe(24);
  link.isHeld = false;
  for (let at = 0; at < 10_000; at += 50) {
    meter.totalBytes += 100_000;
    await vi.advanceTimersByTimeAsync(50);
  }
  expect(semaphore.width).toBe(96);
  controller.stop();
});

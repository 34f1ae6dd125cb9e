import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTimerCoalescer } from "#worker/base/timer-coalescer.ts";
import { createRoomWatch } from "./room-watch.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** Sockets of which the test says which have room: 3 and 4 are watched, those above 100 cannot be. */
function rooms() {
  const free = new Set<number>();
  const added = new Set<number>();
  let looks = 0;
  let closed = 0;
  for (const socketFd of [3, 4]) added.add(socketFd);
  return {
    free,
    looks: () => looks,
    close: () => void closed++,
    closed: () => closed,
    add: (fd: number) => {
      if (fd > 100) return false;
      added.add(fd);
      return true;
    },
    take: () => {
      looks++;
      return [...added].filter((fd) => free.has(fd));
    },
  };
}

/** A link of such round trips. */
const at = (rttMs: number | null) => ({
  coalescer: createTimerCoalescer(),
  rttMs: () => rttMs,
  now: () => performance.now(),
});

test("each is told once, when it has room, at a tick that follows the round trip", () => {
  const kernel = rooms();
  const watch = createRoomWatch(kernel, at(60));
  const told: string[] = [];
  watch.wait(3, () => told.push("three"));
  watch.wait(4, () => told.push("four"));
  vi.advanceTimersByTime(45);
  expect(kernel.looks()).toBe(2);
  expect(told).toEqual([]);
  kernel.free.add(4);
  vi.advanceTimersByTime(20);
  expect(told).toEqual(["four"]);
  kernel.free.add(3);
  vi.advanceTimersByTime(200);
  expect(told).toEqual(["four", "three"]);
});

test("those that are paced are looked at once a round trip, until one waits that is not", () => {
  const kernel = rooms();
  const watch = createRoomWatch(kernel, at(90));
  const told: string[] = [];
  watch.paced(3, true);
  watch.wait(3, () => told.push("three"));
  vi.advanceTimersByTime(170);
  expect(kernel.looks()).toBe(1);
  watch.wait(4, () => told.push("four"));
  kernel.free.add(4);
  vi.advanceTimersByTime(31);
  expect(told).toEqual(["four"]);
  // Nobody else waits.
  vi.advanceTimersByTime(170);
  expect(kernel.looks()).toBe(3);
  watch.paced(3, false);
  vi.advanceTimersByTime(90);
  const before = kernel.looks();
  vi.advanceTimersByTime(90);
  expect(kernel.looks()).toBe(before + 3);
});

/** Three takes so long to have room, and is filled as soon as it is told. Returns how that ends. */
function fillAgainAndAgain(
  watch: ReturnType<typeof createRoomWatch>,
  kernel: ReturnType<typeof rooms>,
  drainMs: number,
): () => void {
  let isOver = false;
  const goOn = () => {
    kernel.free.delete(3);
    if (isOver) return;
    setTimeout(() => kernel.free.add(3), drainMs);
    watch.wait(3, goOn);
  };
  goOn();
  return () => {
    isOver = true;
    vi.advanceTimersByTime(2 * drainMs);
  };
}

/** How often is looked, once it is known how long one takes. */
function msPerLook(kernel: ReturnType<typeof rooms>): number {
  vi.advanceTimersByTime(4_000);
  const before = kernel.looks();
  vi.advanceTimersByTime(4_000);
  return 4_000 / (kernel.looks() - before);
}

test.each([
  ["once a round trip where it has room sooner", 60, 90],
  ["only when it usually has room again where that takes longer", 230, 250],
  ["but not for long", 2_000, 400],
])("one that is paced is looked for %s", (_, drainMs, tickMs) => {
  const kernel = rooms();
  const watch = createRoomWatch(kernel, at(90));
  watch.paced(3, true);
  fillAgainAndAgain(watch, kernel, drainMs);
  const everyMs = msPerLook(kernel);
  expect(everyMs).toBeGreaterThan(tickMs * 0.85);
  expect(everyMs).toBeLessThan(tickMs * 1.3);
});

test.each([
  ["as often as before where it is soon", 30, 10],
  ["the less often the longer it takes", 120, 35],
  ["but not for long", 1_000, 50],
])("where losses hold one back it is looked for %s", (_, drainMs, tickMs) => {
  const kernel = rooms();
  const watch = createRoomWatch(kernel, at(30));
  fillAgainAndAgain(watch, kernel, drainMs);
  const everyMs = msPerLook(kernel);
  expect(everyMs).toBeGreaterThan(tickMs * 0.7);
  expect(everyMs).toBeLessThan(tickMs * 1.4);
});

test("one that has just begun is not looked for less often because another takes long", () => {
  const kernel = rooms();
  const watch = createRoomWatch(kernel, at(30));
  fillAgainAndAgain(watch, kernel, 1_000);
  vi.advanceTimersByTime(4_000);
  const told = vi.fn<() => void>();
  watch.wait(4, told);
  kernel.free.add(4);
  vi.advanceTimersByTime(11);
  expect(told).toHaveBeenCalledTimes(1);
});

test("what was learned of a socket does not count for another of its number", () => {
  const kernel = rooms();
  const watch = createRoomWatch(kernel, at(30));
  const stop = fillAgainAndAgain(watch, kernel, 1_000);
  vi.advanceTimersByTime(4_000);
  stop();
  watch.add(3);
  const told = vi.fn<() => void>();
  watch.wait(3, told);
  kernel.free.add(3);
  vi.advanceTimersByTime(11);
  expect(told).toHaveBeenCalledTimes(1);
});

test("when one throws the others are looked for all the same", () => {
  const kernel = rooms();
  const watch = createRoomWatch(kernel, at(30));
  watch.wait(3, () => {
    throw new Error("strange");
  });
  const told = vi.fn<() => void>();
  watch.wait(4, told);
  kernel.free.add(3);
  expect(() => vi.advanceTimersByTime(11)).toThrow("strange");
  kernel.free.add(4);
  vi.advanceTimersByTime(20);
  expect(told).toHaveBeenCalledTimes(1);
});

test("a socket that has the number of one that was paced is not", () => {
  const kernel = rooms();
  const watch = createRoomWatch(kernel, at(90));
  watch.paced(3, true);
  watch.add(3);
  watch.wait(3, () => undefined);
  vi.advanceTimersByTime(31);
  expect(kernel.looks()).toBe(1);
});

test("nobody looks while nobody waits", () => {
  const kernel = rooms();
  const watch = createRoomWatch(kernel, at(null));
  kernel.free.add(3);
  watch.wait(3, () => undefined);
  vi.advanceTimersByTime(1_000);
  expect(kernel.looks()).toBe(1);
});

test("who is told may wait again at once, and who was forgotten is not told", () => {
  const kernel = rooms();
  const watch = createRoomWatch(kernel, at(null));
  kernel.free.add(3);
  let left = 3;
  const again = () => {
    if (--left > 0) watch.wait(3, again);
  };
  watch.wait(3, again);
  const forgotten = vi.fn<() => void>();
  watch.wait(4, forgotten);
  watch.forget(forgotten);
  kernel.free.add(4);
  vi.advanceTimersByTime(1_000);
  expect(left).toBe(0);
  expect(forgotten).not.toHaveBeenCalled();
});

test("what cannot be watched is said", () => {
  const watch = createRoomWatch(rooms(), at(null));
  expect([watch.add(100), watch.add(101)]).toEqual([true, false]);
});

test("closed, once, it tells nobody and lets nobody wait", () => {
  const kernel = rooms();
  const watch = createRoomWatch(kernel, at(null));
  const told = vi.fn<() => void>();
  watch.wait(3, told);
  watch.close();
  watch.close();
  kernel.free.add(3);
  vi.advanceTimersByTime(1_000);
  expect(told).not.toHaveBeenCalled();
  expect(kernel.closed()).toBe(1);
  expect([watch.add(4), watch.wait(4, told)]).toEqual([false, false]);
  expect(vi.getTimerCount()).toBe(0);
});

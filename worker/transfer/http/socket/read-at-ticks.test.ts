import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTickReader, type Reader } from "./read-at-ticks.ts";

const TICK_MS = 8;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function createTrial() {
  let ready: number[] = [];
  let questions = 0;
  const sockets = {
    take: () => {
      questions++;
      return ready;
    },
  };
  const reader = createTickReader(sockets, { tickMs: () => TICK_MS, now: Date.now });
  const told: string[] = [];
  const expectFrom = (fd: number) => {
    const one: Reader = { read: () => void told.push(`read ${fd}`), leave: () => void told.push(`leave ${fd}`) };
    reader.expect(fd, one);
  };
  const tick = (fds: number[], count = 1) => {
    ready = fds;
    vi.advanceTimersByTime(count * TICK_MS);
    return told.splice(0);
  };
  return { reader, expectFrom, tick, questions: () => questions };
}

test("one question at each tick, and only those that have something are read", () => {
  const { expectFrom, tick, questions } = createTrial();
  for (const fd of [3, 4, 5]) expectFrom(fd);
  expect(tick([4])).toEqual(["read 4"]);
  expect(tick([])).toEqual([]);
  expect(tick([3, 5, 9])).toEqual(["read 3", "read 5"]);
  expect(questions()).toBe(3);
});

test("nobody is asked while nothing is expected", () => {
  const { reader, expectFrom, tick, questions } = createTrial();
  expectFrom(3);
  reader.forget(3);
  expect(tick([3], 100)).toEqual([]);
  expect(questions()).toBe(1);
  expectFrom(3);
  expect(tick([3])).toEqual(["read 3"]);
});

test("who was told nothing for long is left to the usual way, and the others are not", () => {
  const { expectFrom, tick } = createTrial();
  for (const fd of [3, 4]) expectFrom(fd);
  const told = tick([4], 400);
  expect(told.filter((what) => what === "leave 3")).toHaveLength(1);
  expect(told).not.toContain("leave 4");
  expect(tick([3, 4])).toEqual(["read 4"]);
});

test("nobody is read after the end", () => {
  const { reader, expectFrom, tick } = createTrial();
  expectFrom(3);
  reader.close();
  expect(tick([3], 10)).toEqual([]);
  expectFrom(4);
  expect(tick([4], 10)).toEqual([]);
});

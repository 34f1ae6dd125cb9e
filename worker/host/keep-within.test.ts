import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { collectAll } from "./keep-heap-small.ts";
import { keepWithin } from "./keep-within.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function memoryOf(residentBytes: number | null) {
  const memory = { residentBytes, cleanUps: 0, at: 0, givenBack: 0, freesBytes: 0 };
  return {
    memory,
    means: {
      residentBytes: () => memory.residentBytes,
      giveBack: () => {
        memory.givenBack++;
        if (memory.residentBytes !== null) memory.residentBytes -= memory.freesBytes;
      },
      cleanUp: () => {
        memory.cleanUps++;
        memory.at += 40;
      },
      now: () => memory.at,
    },
    pass: (ms: number) => {
      memory.at += ms;
      vi.advanceTimersByTime(ms);
    },
  };
}

test("nothing is cleaned up while there is room", () => {
  const { memory, means, pass } = memoryOf(100e6);
  const stop = keepWithin(100e6, { memory: means });
  pass(1_000);
  expect(memory).toMatchObject({ givenBack: 0, cleanUps: 0 });
  memory.residentBytes = 165e6;
  pass(50);
  expect(memory.cleanUps).toBe(1);
  stop();
});

test("on the way there the pages of the program are given back, and again only much later", () => {
  const { memory, means, pass } = memoryOf(120e6);
  const stop = keepWithin(100e6, { memory: means });
  for (let tick = 0; tick < 100; tick++) pass(50);
  expect(memory).toMatchObject({ givenBack: 1, cleanUps: 0 });
  for (let tick = 0; tick < 120; tick++) pass(50);
  expect(memory).toMatchObject({ givenBack: 2, cleanUps: 0 });
  stop();
});

test("where the pages of the program suffice, garbage is left alone", () => {
  const { memory, means, pass } = memoryOf(165e6);
  memory.freesBytes = 25e6;
  const stop = keepWithin(100e6, { memory: means });
  pass(50);
  expect(memory).toMatchObject({ givenBack: 1, cleanUps: 0 });
  memory.residentBytes = 170e6;
  pass(50);
  expect(memory).toMatchObject({ givenBack: 1, cleanUps: 1 });
  memory.residentBytes = 170e6;
  pass(500);
  expect(memory).toMatchObject({ givenBack: 2, cleanUps: 1 });
  stop();
});

test("who has taken little is looked at seldom, and often again as soon as it is more", () => {
  const { memory, means, pass } = memoryOf(50e6);
  let looks = 0;
  const counted = { ...means, now: () => (looks++, memory.at) };
  const stop = keepWithin(100e6, { memory: counted, isLasting: true });
  for (let tick = 0; tick < 20; tick++) pass(50);
  expect(looks).toBeLessThan(12);
  memory.residentBytes = 130e6;
  pass(100);
  looks = 0;
  for (let tick = 0; tick < 20; tick++) pass(50);
  expect(looks).toBeGreaterThan(14);
  stop();
});

test("where it cannot be told nothing happens", () => {
  const { memory, means, pass } = memoryOf(null);
  const stop = keepWithin(0, { memory: means });
  pass(1_000);
  expect(memory.cleanUps).toBe(0);
  stop();
});

test("where it is of no use it takes a quarter of the time, not all of it", () => {
  const { memory, means, pass } = memoryOf(500e6);
  const stop = keepWithin(100e6, { memory: means });
  for (let tick = 0; tick < 100; tick++) pass(50);
  expect(memory.cleanUps).toBeGreaterThan(20);
  expect(memory.cleanUps * 40).toBeLessThan(memory.at / 3.5);
  stop();
  const before = memory.cleanUps;
  pass(1_000);
  expect(memory.cleanUps).toBe(before);
});

test("what is garbage is given back", () => {
  let garbage: unknown[] | null = Array.from({ length: 400_000 }, (_, index) => ({ index, text: `${index}` }));
  const { heapTotal } = process.memoryUsage();
  expect(garbage.length).toBe(400_000);
  garbage = null;
  collectAll();
  expect(process.memoryUsage().heapTotal).toBeLessThan(heapTotal - 10e6);
});

import { expect, test } from "vitest";
import { burstOf } from "./burst-of.ts";

/** Bytes per second of each second, from the first. */
const readings = (perSecond: readonly number[]) => {
  let bytes = 0;
  return [0, ...perSecond].map((rate, at) => ({ atMs: 5_000 + at * 1000, bytes: (bytes += rate) }));
};
const seconds = (count: number, rate: number) => Array.from({ length: count }, () => rate);

test("a link that is slowed down after a burst shows both rates, slow start left out", () => {
  expect(burstOf(readings([1, ...seconds(9, 80), ...seconds(30, 20)]))).toEqual({
    firstBytesPerSecond: 80,
    lateBytesPerSecond: 20,
  });
});

test("a link that keeps its rate shows the same twice", () => {
  expect(burstOf(readings(seconds(20, 50)))).toEqual({ firstBytesPerSecond: 50, lateBytesPerSecond: 50 });
});

test("what is over soon says nothing", () => {
  expect(burstOf(readings(seconds(19, 50)))).toBeNull();
  expect(burstOf([])).toBeNull();
});

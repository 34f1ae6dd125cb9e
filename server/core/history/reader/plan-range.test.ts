import { expect, test } from "vitest";
import { planRange, type RangePlan } from "./plan-range.ts";
import { HOUR_MS } from "../stretch.ts";

const at = (hour: number, minutes = 0) => hour * HOUR_MS + minutes * 60_000;
const kept = { hourThrough: 1_000, dayThrough: 41, oldestHour: 0 };
/** How often each hour is read. */
const hoursOf = ({ days, hours, tail }: RangePlan): number[] => {
  const read: number[] = [];
  for (let hour = days[0] * 24; hour < days[1] * 24; hour++) read.push(hour);
  for (const [from, to] of hours) for (let hour = from; hour < to; hour++) read.push(hour);
  if (tail !== null) for (let hour = tail[0] / HOUR_MS; hour < tail[1] / HOUR_MS; hour++) read.push(hour);
  return read.toSorted((a, b) => a - b);
};
const all = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);

test("every hour of any range is read once, and none outside", () => {
  for (const [from, to] of [
    [0, 1],
    [5, 30],
    [24, 48],
    [10, 990],
    [980, 1_010],
    [990, 999],
    [1_000, 1_005],
    [3, 2_000],
  ]) {
    const plan = planRange({ from: at(from ?? 0), to: at(to ?? 0) }, kept);
    expect(hoursOf(plan), `${from} to ${to}`).toEqual(all(from ?? 0, to ?? 0));
  }
});

test("a month is read by days but for its ends", () => {
  const plan = planRange({ from: at(10), to: at(730) }, kept);
  expect(plan.days).toEqual([1, 30]);
  expect(plan.hours).toEqual([
    [10, 24],
    [720, 730],
  ]);
  expect(plan.tail).toBeNull();
});

test("a range is widened to whole hours, and to whole days where hours are gone", () => {
  const plan = planRange({ from: at(10, 20), to: at(12, 1) }, kept);
  expect([plan.from, plan.to]).toEqual([at(10), at(13)]);
  const old = planRange({ from: at(10), to: at(60) }, { ...kept, oldestHour: 500 });
  expect([old.from, old.to]).toEqual([at(0), at(72)]);
  expect([old.days, old.hours]).toEqual([[0, 3], []]);
});

import { expect, test } from "vitest";
import { compareLosses } from "./compare-losses.ts";

const row = (lastStep: number, fromStep: number | null, lostSteps = lastStep - (fromStep ?? 0)) => ({
  fromStep,
  lastStep,
  lostSteps,
});

test("every life that lost steps has its row, whatever the order", () => {
  const lives = [
    { from: 0, last: 7 },
    { from: 10, last: 15 },
    { from: 20, last: 20 },
  ];
  expect(compareLosses(lives, [row(15, 10), row(7, null)])).toEqual([]);
});

test("a log may be one step behind, also beside a life that has that step", () => {
  expect(compareLosses([{ from: 280, last: 289 }], [row(290, 280)])).toEqual([]);
  const lives = [
    { from: 280, last: 289 },
    { from: 280, last: 290 },
  ];
  expect(compareLosses(lives, [row(290, 280), row(289, 280)])).toEqual([]);
  expect(compareLosses(lives, [row(290, 280), row(290, 280)])).toEqual([]);
  expect(compareLosses(lives, [row(291, 280), row(290, 280)])).toEqual([]);
  expect(compareLosses(lives.toReversed(), [row(291, 280), row(290, 280)])).toEqual([]);
});

test("one that was killed before its first step was written down takes no row from another one", () => {
  const lives = [
    { from: 280, last: 280 },
    { from: 280, last: 281 },
  ];
  expect(compareLosses(lives, [row(281, 280)])).toEqual([]);
  expect(compareLosses(lives, [row(281, 280), row(281, 280)])).toEqual([]);
});

test("what is missing, too little, made up or counted wrongly is a sentence each", () => {
  expect(compareLosses([{ from: 10, last: 15 }], [])).toEqual([
    "it came to 15 and went on from 10: the hub does not say so",
  ]);
  expect(compareLosses([{ from: 10, last: 15 }], [row(14, 10)])).toEqual([
    "it came to 15 and went on from 10: the hub does not say so",
    "the hub says 14 was lost to 10: it was not",
  ]);
  expect(compareLosses([{ from: 10, last: 15 }], [row(15, 10, 4)])).toEqual(["4 steps between 10 and 15"]);
});

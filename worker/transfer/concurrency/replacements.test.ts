import { expect, test } from "vitest";
import { createReplacements } from "./replacements.ts";

const soonMs = 1_500;

test("one is tried; when it is answered soon, two; then four", () => {
  const answers = new Map<number, number>();
  const replacements = createReplacements<number>((span) => answers.get(span) ?? null);
  let now = 0;
  let asked = 0;
  const askAll = () => {
    let count = 0;
    while (replacements.mayAsk({ now, soonMs })) {
      replacements.asked(asked++, now);
      count++;
    }
    return count;
  };
  const rounds = [];
  for (let round = 0; round < 4; round++) {
    rounds.push(askAll());
    now += 200;
    for (let index = 0; index < asked; index++) if (!answers.has(index)) answers.set(index, now);
  }
  expect(rounds).toEqual([1, 2, 4, 8]);
});

test("it was right when the answer came, however much later somebody looks", () => {
  const answers = new Map([["first", 100]]);
  const replacements = createReplacements<string>((span) => answers.get(span) ?? null);
  replacements.asked("first", 0);
  for (const other of ["second", "third"]) {
    expect(replacements.mayAsk({ now: 60_000, soonMs })).toBe(true);
    replacements.asked(other, 60_000);
  }
  expect(replacements.mayAsk({ now: 60_000, soonMs })).toBe(false);
});

test("after a late answer it is one again", () => {
  const answers = new Map([
    ["first", 100],
    ["second", 4_000],
  ]);
  const replacements = createReplacements<string>((span) => answers.get(span) ?? null);
  replacements.asked("first", 0);
  expect(replacements.mayAsk({ now: 100, soonMs })).toBe(true);
  replacements.asked("second", 100);
  expect(replacements.mayAsk({ now: 4_000, soonMs })).toBe(true);
  replacements.asked("third", 4_000);
  expect(replacements.mayAsk({ now: 4_000, soonMs })).toBe(false);
});

test("one that gets no answer at all makes room for one more, and for no second", () => {
  const answers = new Map([["first", 100]]);
  const replacements = createReplacements<string>((span) => answers.get(span) ?? null);
  replacements.asked("first", 0);
  expect(replacements.mayAsk({ now: 100, soonMs })).toBe(true);
  replacements.asked("second", 100);
  replacements.asked("third", 100);
  expect(replacements.mayAsk({ now: 3_000, soonMs })).toBe(false);
  expect(replacements.mayAsk({ now: 3_200, soonMs })).toBe(true);
  replacements.asked("fourth", 3_200);
  expect(replacements.mayAsk({ now: 3_200, soonMs })).toBe(false);
});

import { expect, test } from "vitest";
import { createReplacements } from "./replacements.ts";

const soonMs = 1_500;

test("one is tried; when it brings something soon, two; then four", () => {
  const brought = new Set<string>();
  const replacements = createReplacements<string>((span) => brought.has(span));
  let now = 0;
  let asked = 0;
  const askAll = () => {
    let count = 0;
    while (replacements.mayAsk({ now, soonMs })) {
      replacements.asked(`${asked++}`, now);
      count++;
    }
    return count;
  };
  const rounds = [];
  for (let round = 0; round < 4; round++) {
    rounds.push(askAll());
    for (let index = 0; index < asked; index++) brought.add(`${index}`);
    now += 200;
  }
  expect(rounds).toEqual([1, 2, 4, 8]);
});

test("one that is late, or silent itself, begins again with one", () => {
  const brought = new Set<string>();
  const replacements = createReplacements<string>((span) => brought.has(span));
  replacements.asked("first", 0);
  brought.add("first");
  expect(replacements.mayAsk({ now: 100, soonMs })).toBe(true);
  replacements.asked("second", 100);
  expect(replacements.mayAsk({ now: 100, soonMs })).toBe(true);
  brought.add("second");
  expect(replacements.mayAsk({ now: 4_000, soonMs })).toBe(true);
  replacements.asked("third", 4_000);
  expect(replacements.mayAsk({ now: 4_000, soonMs })).toBe(false);
  replacements.failed("third");
  expect(replacements.mayAsk({ now: 8_000, soonMs })).toBe(true);
});

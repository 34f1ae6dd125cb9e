import { expect, it } from "vitest";
import { createSeeded, makeHostile, readSeeds, tryHostile } from "../testing/fuzz-inspect.ts";

/** The first of those that `npm run prove -- --measure inspect-fuzz` tries. */
const FILES = 1_000;

it(`${FILES} hostile files are looked at without a crash, past no end and past no limit`, async () => {
  const seeds = readSeeds();
  const problems: string[] = [];
  const endings = { whole: 0, faulty: 0 };
  for (let seed = 1; seed <= FILES; seed++) {
    const { problem, found } = await tryHostile(makeHostile(seed, seeds));
    if (problem !== null) problems.push(`seed ${seed}: ${problem}`);
    if (found?.fault === null) endings.whole++;
    else endings.faulty++;
  }
  expect(problems).toEqual([]);
  // Some are bent where nobody looks, some beyond reading: otherwise they would try nothing.
  expect(endings.whole).toBeGreaterThan(FILES / 20);
  expect(endings.faulty).toBeGreaterThan(FILES / 5);
});

it("a seed makes the same file again", () => {
  const seeds = readSeeds();
  expect(makeHostile(17, seeds)).toEqual(makeHostile(17, seeds));
  expect(makeHostile(17, seeds).bytes).not.toEqual(makeHostile(18, seeds).bytes);
  expect(createSeeded(1).next()).not.toBe(createSeeded(2).next());
});

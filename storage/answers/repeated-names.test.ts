import { expect, test } from "vitest";
import { createRepeatFinder } from "./repeated-names.ts";

const names = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `run/${from + index}`);

test("a name that comes again is found on any later page, sorted or not", () => {
  const { isRepeated } = createRepeatFinder();
  expect(names(0, 3_000).filter(isRepeated)).toEqual([]);
  expect(["run/2999", "run/0", "run/1500", "run/3000", "run", "run/"].filter(isRepeated)).toEqual([
    "run/2999",
    "run/0",
    "run/1500",
  ]);
});

test("as many names as promised are remembered, older ones are forgotten and count as new", () => {
  const { isRepeated } = createRepeatFinder({ remembered: 100 });
  for (const name of names(0, 1_000)) isRepeated(name);
  expect(names(900, 1_000).filter(isRepeated)).toEqual(names(900, 1_000));
  expect(isRepeated("run/0")).toBe(false);
});

test("a finder that continues the listing knows the end of what came before", () => {
  const first = createRepeatFinder();
  for (const name of names(0, 1_000)) first.isRepeated(name);
  const { isRepeated } = createRepeatFinder({ before: first.newest() });
  expect(["run/998", "run/999", "run/1000"].filter(isRepeated)).toEqual(["run/998", "run/999"]);
});

import { expect, test } from "vitest";
import { behindWords, copiesChoices, moved } from "./homes-words.ts";

test("a home moves by one place and the others keep their order", () => {
  expect(moved(["a", "b", "c"], 2, -1)).toEqual(["a", "c", "b"]);
  expect(moved(["a", "b", "c"], 0, 1)).toEqual(["b", "a", "c"]);
});

test("as many copies can be asked for as there are homes", () => {
  expect(copiesChoices(3).map(({ value }) => value)).toEqual(["all", "1", "2"]);
});

test("what lacks a copy is counted, and the newest is named", () => {
  const homes = [{}, {}] as never;
  expect(behindWords({ homes, behind: { checkpoints: 1, newest: true } })).toBe(
    "1 checkpoint lacks a copy, the newest among them",
  );
  expect(behindWords({ homes, behind: { checkpoints: 1200, newest: false } })).toBe("1,200 checkpoints lack a copy");
});

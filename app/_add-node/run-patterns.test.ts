import { expect, test } from "vitest";
import { runPatterns } from "#protocol/base/scope.ts";
import { readRunPatterns, runPatternsWrong } from "./run-patterns.ts";

test.each(["llama-*", " llama-*,  eval-? \n", "a b,c"])("reads %j as the hub does", (text) => {
  expect(runPatternsWrong(text)).toBeUndefined();
  expect(readRunPatterns(text)).toBe(runPatterns.parse(text));
});

test.each(["../x", "llama/*", Array.from({ length: 17 }, (_, index) => `r${index}`).join()])(
  "refuses %j, as the hub does",
  (text) => {
    expect(runPatternsWrong(text)).toBeDefined();
    expect(runPatterns.safeParse(text).success).toBe(false);
  },
);

test("nothing is no pattern", () => {
  expect(readRunPatterns("  , ")).toBeNull();
  expect(runPatternsWrong("")).toBeUndefined();
});

import { expect, test } from "vitest";
import { foreignWords } from "#worker/commands/restore-command.ts";

test("names the node whose pickles were restored, with what a terminal would obey as escapes", () => {
  expect(foreignWords({ node: "gpu-\u001b[2J1", pickles: 3 })).toBe(
    " 3 pickle files in it, written by gpu-\\u001b[2J1: loading a pickle runs what is in it.",
  );
  expect(foreignWords(null)).toBe("");
});

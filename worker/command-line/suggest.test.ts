import { expect, test } from "vitest";
import { COMMANDS } from "./commands.ts";
import { closest } from "./suggest.ts";

const commands = Object.keys(COMMANDS);

test.each([
  ["agnet", "agent"],
  ["sycn", "sync"],
  ["pc", "cp"],
  ["chekc", "check"],
  ["presing", "presign"],
  ["verison", "version"],
  ["dcotor", "doctor"],
  ["doc", "doctor"],
  ["compl", "completion"],
  ["limits", "limit"],
  ["runn", "run"],
])("of %s the nearest command is %s", (typed, meant) => {
  expect(closest(typed, commands)).toBe(meant);
});

test.each(["upload", "xyz", "--", "aws"])("to %s no command is near", (typed) => {
  expect(closest(typed, commands)).toBeNull();
});

test("every command is found with any two of its letters swapped", () => {
  for (const command of commands.filter(({ length }) => length > 2)) {
    for (let at = 0; at + 1 < command.length; at++) {
      const letters = Array.from(command);
      [letters[at], letters[at + 1]] = [command[at + 1] ?? "", command[at] ?? ""];
      expect(closest(letters.join(""), commands)).toBe(command);
    }
  }
});

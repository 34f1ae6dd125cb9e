import { expect, it } from "vitest";
import { parseJsonOrNull } from "./parse-json-or-null.ts";

it.each([
  ['{"a":[1]}', { a: [1] }],
  ["null", null],
  ["", null],
  ['{"a":', null],
  ["<html>", null],
])("%j is read as %j", (text, value) => {
  expect(parseJsonOrNull(text)).toEqual(value);
});

import { expect, it } from "vitest";
import { inputLine, outputLine, readInputLine, readOutputLine } from "./place-lines.ts";

it.each([
  ["data/train -> data", { prefix: "data/train", folder: "data" }],
  ["my bucket: data/ -> .", { profile: "my bucket", prefix: "data/", folder: "." }],
])("reads and writes the input %s", (line, input) => {
  expect(readInputLine(line)).toEqual(input);
  expect(inputLine(input)).toBe(line);
});

it.each([
  ["out -> results/1", { folder: "out", prefix: "results/1" }],
  ["a/summary.json -> my bucket: results", { profile: "my bucket", files: ["a/summary.json"], prefix: "results" }],
  ["a, b -> results", { files: ["a", "b"], prefix: "results" }],
])("reads and writes the output %s", (line, output) => {
  expect(readOutputLine(line)).toEqual(output);
  expect(outputLine(output)).toBe(line);
});

it.each(["data", "data ->", "-> data", "a -> b -> c", " -> "])("the line %s is none", (line) => {
  expect([readInputLine(line), readOutputLine(line)]).toEqual([null, null]);
});

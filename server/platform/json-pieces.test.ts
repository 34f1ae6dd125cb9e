import { describe, expect, it } from "vitest";
import { jsonPieces } from "./json-pieces.ts";

const many = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ index, name: `"${index}"`, none: null }));
const textOf = (value: unknown) => [...jsonPieces(value)].join("");

describe("JSON in pieces", () => {
  it.each<[string, unknown]>([
    ["a number", 5],
    ["a text", 'a "b" \u2028'],
    ["nothing", undefined],
    ["an empty object", {}],
    ["a long list", many(1_001)],
    ["a long list of lists", [many(250), many(3), []]],
    ["a long list deep inside", { result: { data: { rows: many(500), after: undefined, omitted: 0, last: null } } }],
    ["holes and functions", { rows: [...many(200), undefined, () => 1], skipped: () => 1, kept: false }],
    ["a date beside a long list", { at: new Date(0), rows: many(101) }],
    ["many names", Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`run-${index}`, many(1)]))],
  ])("is what JSON.stringify writes: %s", (_name, value) => {
    expect(textOf(value)).toBe(JSON.stringify(value) ?? "null");
  });

  it("has no piece of more than a hundred rows", () => {
    const pieces = [...jsonPieces({ result: { data: [{ run: "a", rows: many(20_000) }] } })];
    expect(Math.max(...pieces.map((piece) => piece.split('"index"').length - 1))).toBe(100);
  });
});

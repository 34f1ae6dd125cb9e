import { expect, test } from "vitest";
import type { Side } from "./entries.ts";
import type { ObjectEntry } from "./entry.ts";
import { pairUp } from "./pair-up.ts";

const entry = (relative: string): ObjectEntry => ({
  at: "store",
  relative,
  key: relative,
  sizeBytes: 1,
  modifiedAtMs: null,
  etag: null,
});
const side = (taken: string[], leftOut: string[] = []): Side => ({
  taken: taken.map(entry),
  all: [...taken, ...leftOut].sort().map(entry),
  failures: [],
  leftOut: [],
  unknown: new Set(),
  empty: new Set(),
});

test("what the filters leave out of SRC is neither copied nor extra in DST", () => {
  const paired = pairUp(side(["a", "b"], ["left-out"]), side(["b", "c", "left-out"]));
  expect([...paired.both].map(({ from }) => from.relative)).toEqual(["b"]);
  expect([...paired.onlyFrom].map(({ relative }) => relative)).toEqual(["a"]);
  expect([...paired.onlyTo].map(({ relative }) => relative)).toEqual(["c"]);
});

test("what the filters leave out of DST is compared where SRC has it, and never extra", () => {
  const paired = pairUp(side(["a"]), side([], ["a", "b"]));
  expect([...paired.both]).toHaveLength(1);
  expect([...paired.onlyTo]).toEqual([]);
});

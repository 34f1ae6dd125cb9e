import { expect, test } from "vitest";
import { sampleWords } from "./advice-words.ts";

test("evidence says how much of it is of benchmarks", () => {
  const sample = { samples: 23, nodes: 1, least: 5 };
  expect(sampleWords({ ...sample, ofBenchmarks: 0 })).toBe("from 23 values of one node; needs at least 5");
  expect(sampleWords({ ...sample, nodes: 4, ofBenchmarks: 8 })).toBe(
    "from 23 values of 4 nodes, 8 of them of benchmarks; needs at least 5",
  );
  expect(sampleWords({ ...sample, ofBenchmarks: 23 })).toBe(
    "from 23 values of one node, all of them of benchmarks; needs at least 5",
  );
});

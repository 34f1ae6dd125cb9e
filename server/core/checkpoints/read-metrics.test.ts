import { expect, it } from "vitest";
import { readMetrics } from "./read-metrics.ts";

it("metrics are read as they were stored", () => {
  expect(readMetrics('{"loss":0.5}')).toEqual({ loss: 0.5 });
});

it("a row that has more of them than a manifest may have is shown without", () => {
  const stored = JSON.stringify(Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`m${index}`, index])));
  expect(readMetrics(stored)).toEqual({});
});

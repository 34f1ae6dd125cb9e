import { expect, it } from "vitest";
import type { Measure, PercentileRow } from "#protocol/history/history.ts";
import { byBucket, historyRangeOf } from "./link-rows.ts";

const row = (key: string, label: string, measure: Measure): PercentileRow => ({
  key,
  label,
  measure,
  count: 1,
  mean: 1,
  p10: 1,
  p50: 1,
  p90: 1,
  failures: 0,
  failureShare: 0,
});

it("the history of a link is told bucket by bucket, each named once, also where two have one name", () => {
  const rows = [row("b", "same", "rtt"), row("a", "same", "down"), row("c", "other", "up"), row("a", "same", "up")];
  expect(byBucket(rows).map(({ row: { key, measure }, isFirst }) => [key, measure, isFirst])).toEqual([
    ["c", "up", true],
    ["a", "up", true],
    ["a", "down", false],
    ["b", "rtt", true],
  ]);
});

it("a range that the address does not know is a month", () => {
  expect(historyRangeOf("7d").days).toBe(7);
  expect(historyRangeOf("forever").days).toBe(30);
});

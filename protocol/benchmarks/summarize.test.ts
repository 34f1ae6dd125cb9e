import { expect, test } from "vitest";
import { spread, summarize, type CaseResult } from "./summarize.ts";

const one = (subject: string, engine: CaseResult["engine"], bytesPerSecond: number | null): CaseResult => ({
  subject,
  engine,
  direction: "up",
  bytesPerSecond,
});

test("percentiles lie between ranks, as numpy's do", () => {
  // numpy.percentile([1, 2, 3, 4], [10, 50, 90]) is [1.3, 2.5, 3.7].
  const found = spread([4, 1, 3, 2]);
  expect(found?.p10).toBeCloseTo(1.3, 12);
  expect(found?.p50).toBeCloseTo(2.5, 12);
  expect(found?.p90).toBeCloseTo(3.7, 12);
  expect(found?.mean).toBe(2.5);
  expect(spread([])).toBeNull();
  expect(spread([5])).toEqual({ count: 1, mean: 5, p10: 5, p50: 5, p90: 5 });
});

test("a subject's maximum is that of its best engine, and the shares of the best add up to one", () => {
  const { maxima, engines } = summarize([
    one("a", "tidemark", 30),
    one("a", "rclone", 20),
    one("b", "tidemark", 5),
    one("b", "rclone", 10),
    one("c", "tidemark", 7),
  ]);
  expect(maxima.up).toMatchObject({ count: 3, mean: 47 / 3 });
  expect(maxima.down).toBeNull();
  expect(engines.map(({ engine, bestShare }) => [engine, bestShare])).toEqual([
    ["tidemark", 2 / 3],
    ["rclone", 1 / 3],
  ]);
});

test("what failed counts among the failures and in no mean, and a subject where all failed in no share", () => {
  const { maxima, engines } = summarize([one("a", "sdk", null), one("a", "rclone", 20), one("b", "sdk", null)]);
  expect(maxima.up?.count).toBe(1);
  expect(engines).toEqual([
    {
      engine: "sdk",
      direction: "up",
      cases: 2,
      failed: 2,
      meanBytesPerSecond: null,
      p50BytesPerSecond: null,
      bestShare: 0,
    },
    {
      engine: "rclone",
      direction: "up",
      cases: 1,
      failed: 0,
      meanBytesPerSecond: 20,
      p50BytesPerSecond: 20,
      bestShare: 1,
    },
  ]);
});

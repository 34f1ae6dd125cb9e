import { expect, test } from "vitest";
import { leastIntervalMs } from "./sustain.ts";

test("a checkpoint of 600 MB at 10 MB/s needs a minute, and a tenth of it to spare", () => {
  expect(leastIntervalMs(600_000_000, 10_000_000)).toBe(66_000);
});

test("nothing is said while the size or the rate is unknown", () => {
  expect(leastIntervalMs(0, 10)).toBeNull();
  expect(leastIntervalMs(10, 0)).toBeNull();
});

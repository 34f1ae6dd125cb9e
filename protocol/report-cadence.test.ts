import { expect, test } from "vitest";
import { silentAfterMs, unconfirmedAfterMs } from "./report-cadence.ts";

test.each([
  [200, 5_200, 30_000],
  [1_000, 6_000, 30_000],
  [10_000, 15_000, 30_000],
  [15_000, 20_000, 30_000],
  [60_000, 65_000, 70_000],
])("a node that reports every %i ms is unconfirmed after %i ms and silent after %i ms", (every, late, silent) => {
  expect(unconfirmedAfterMs(every)).toBe(late);
  expect(silentAfterMs(every)).toBe(silent);
});

import { expect, test } from "vitest";
import { silentAfterMs, unconfirmedAfterMs } from "./report-cadence.ts";

test.each([
  [200, 10_000, 30_000],
  [1_000, 10_000, 30_000],
  [10_000, 25_000, 30_000],
  [15_000, 37_500, 42_500],
])("a node that reports every %i ms is unconfirmed after %i ms and silent after %i ms", (every, late, silent) => {
  expect(unconfirmedAfterMs(every)).toBe(late);
  expect(silentAfterMs(every)).toBe(silent);
});

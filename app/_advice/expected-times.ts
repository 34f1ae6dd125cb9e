import type { RateSpread } from "#protocol/alerts/advice.ts";
import { quantileOf } from "#protocol/base/robust.ts";

/**
 * Returns within how many milliseconds `sizeBytes` are transferred on 50% and on 90% of the nodes. Time is inverse to rate, so
 * the P90 of the time uses the 10th percentile of the rates. Null when too few nodes were measured.
 */
export function expectedTimes(
  spread: Pick<RateSpread, "rates">,
  sizeBytes: number,
): { p50: number; p90: number } | null {
  const { rates } = spread;
  if (rates.length === 0) return null;
  return { p50: (sizeBytes / quantileOf(rates, 0.5)) * 1000, p90: (sizeBytes / quantileOf(rates, 0.1)) * 1000 };
}

import type { RateSpread } from "#protocol/alerts/advice.ts";
import { quantileOf } from "#protocol/base/robust.ts";

/**
 * How long `sizeBytes` take on half of the nodes at most, and on nine of ten, milliseconds. The slow nodes are those that take
 * long: nine of ten are done when the tenth from below is. Null where too few nodes were measured.
 */
export function expectedTimes(
  spread: Pick<RateSpread, "rates">,
  sizeBytes: number,
): { p50: number; p90: number } | null {
  const { rates } = spread;
  if (rates.length === 0) return null;
  return { p50: (sizeBytes / quantileOf(rates, 0.5)) * 1000, p90: (sizeBytes / quantileOf(rates, 0.1)) * 1000 };
}

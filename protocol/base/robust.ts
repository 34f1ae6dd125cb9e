/** Robust statistics, which a few outliers do not move. Pure. */

/** Returns a quantile by linear interpolation between the two nearest values; `share` from 0 to 1. NaN for an empty list. */
export function quantileOf(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return low === undefined || high === undefined ? Number.NaN : low + (high - low) * (at - Math.floor(at));
}

export const medianOf = (values: readonly number[]): number => quantileOf(values, 0.5);

/** Returns a median that is one of the values: the lower middle one when their number is even. Null for an empty list. */
export const lowerMedianOf = (values: readonly number[]): number | null =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? null;

/**
 * Returns the probability that a value drawn from `these` exceeds one drawn from `those`, ties counted half. It is the
 * Mann-Whitney U statistic over the product of the counts: 0.5 means no difference, whatever the distribution.
 */
export function superiorityOf(these: readonly number[], those: readonly number[]): number {
  if (these.length === 0 || those.length === 0) return 0.5;
  const sorted = those.toSorted((a, b) => a - b);
  const below = (value: number, isBelow: (a: number, b: number) => boolean): number => {
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBelow(sorted[middle] ?? Infinity, value)) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const wins = these.reduce(
    (sum, value) => sum + (below(value, (a, b) => a < b) + below(value, (a, b) => a <= b)) / 2,
    0,
  );
  return wins / (these.length * those.length);
}

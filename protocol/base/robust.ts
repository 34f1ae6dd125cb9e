/** Statistics that a few wild values do not move. Pure. */

/** By linear interpolation between the two nearest values; `share` from 0 to 1. NaN of nothing. */
export function quantileOf(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return low === undefined || high === undefined ? Number.NaN : low + (high - low) * (at - Math.floor(at));
}

export const medianOf = (values: readonly number[]): number => quantileOf(values, 0.5);

/** The median that is one of the values: of an even number of them the lower of the two in the middle. Null of nothing. */
export const lowerMedianOf = (values: readonly number[]): number | null =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? null;

/**
 * How likely a value drawn from `these` is larger than one drawn from `those`, equal ones counted half (the statistic of Mann and
 * Whitney over the product of the counts): 0.5 where they do not differ, whatever their distribution.
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

/**
 * Counts values in buckets whose bounds grow by a fixed factor. Percentiles of millions of values then fit in a few dozen
 * bytes, and two histograms can be added. The layout is that of DDSketch with eighteen buckets for each doubling. Source:
 * Masson, Rim, Lee: "DDSketch: a fast and fully-mergeable quantile sketch with relative-error guarantees", VLDB 2019. A
 * percentile is within 1.93 % of the value that has that rank. Buckets are the same everywhere and never collapse, so
 * merging is exact, associative and commutative. Values up to `LEAST` count as zero. Pure.
 */

const BUCKETS_PER_DOUBLING = 18;
const GROWTH = 2 ** (1 / BUCKETS_PER_DOUBLING);
/** Largest error of a percentile as a share of the true value. */
export const RELATIVE_ERROR = (GROWTH - 1) / (GROWTH + 1);
const LEAST_DOUBLING = -10;
const MOST_DOUBLING = 50;
/** Values up to this one count as zero. */
const LEAST = 2 ** LEAST_DOUBLING;

/** Number of buckets. Bucket 0 holds zeros; a bucket's number fits in sixteen bits. */
export const BUCKETS = (MOST_DOUBLING - LEAST_DOUBLING) * BUCKETS_PER_DOUBLING + 1;

export interface Histogram {
  /** Count by bucket. */
  readonly counts: Float64Array;
  /** The first and the last non-empty bucket; `least` exceeds `most` while the histogram is empty. */
  least: number;
  most: number;
  /** Sum of all values, for the mean. */
  sum: number;
}

export const createHistogram = (): Histogram => ({
  counts: new Float64Array(BUCKETS),
  least: BUCKETS,
  most: -1,
  sum: 0,
});

/** Empties the histogram and reuses its memory. */
export function clearHistogram(histogram: Histogram): void {
  histogram.counts.fill(0, Math.min(histogram.least, BUCKETS), histogram.most + 1);
  histogram.least = BUCKETS;
  histogram.most = -1;
  histogram.sum = 0;
}

/** Returns the bucket of a value; the last bucket also takes all larger values. */
export function bucketOf(value: number): number {
  if (!(value > LEAST)) return 0;
  return Math.min(BUCKETS - 1, Math.max(1, Math.ceil((Math.log2(value) - LEAST_DOUBLING) * BUCKETS_PER_DOUBLING)));
}

/** Returns the value that stands for all values of a bucket, at most `RELATIVE_ERROR` away from each. */
export const valueOf = (bucket: number): number =>
  bucket === 0 ? 0 : (2 * 2 ** (bucket / BUCKETS_PER_DOUBLING + LEAST_DOUBLING)) / (GROWTH + 1);

/** Counts a value. Ignores negative, infinite and NaN values. */
export function addValue(histogram: Histogram, value: number): void {
  if (!(value >= 0) || !Number.isFinite(value)) return;
  addBucket(histogram, bucketOf(value), 1);
  histogram.sum += value;
}

/** Adds to the count of a bucket; the caller adds to `sum`. */
export function addBucket(histogram: Histogram, bucket: number, count: number): void {
  histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + count;
  if (bucket < histogram.least) histogram.least = bucket;
  if (bucket > histogram.most) histogram.most = bucket;
}

/** Adds all values of `other` to `into`. */
export function mergeInto(into: Histogram, other: Histogram): void {
  for (let bucket = other.least; bucket <= other.most; bucket++) {
    const count = other.counts[bucket] ?? 0;
    if (count > 0) addBucket(into, bucket, count);
  }
  into.sum += other.sum;
}

export function countOf({ counts, least, most }: Histogram): number {
  let total = 0;
  for (let bucket = least; bucket <= most; bucket++) total += counts[bucket] ?? 0;
  return total;
}

/**
 * Returns the value at each of `ranks` (0 to 1, ascending); null for an empty histogram. Rank r is the value with floor(r *
 * (n - 1)) values before it.
 */
export function percentiles(histogram: Histogram, ranks: readonly number[]): number[] | null {
  const total = countOf(histogram);
  if (total === 0) return null;
  const { counts, most } = histogram;
  let bucket = histogram.least;
  let seen = counts[bucket] ?? 0;
  return ranks.map((rank) => {
    const wanted = Math.floor(Math.min(1, Math.max(0, rank)) * (total - 1));
    while (bucket < most && seen <= wanted) seen += counts[++bucket] ?? 0;
    return valueOf(bucket);
  });
}

export interface Summary {
  count: number;
  mean: number;
  p10: number;
  p50: number;
  p90: number;
}

/** Returns count, mean and percentiles; null for an empty histogram. */
export function summarise(histogram: Histogram): Summary | null {
  const found = percentiles(histogram, [0.1, 0.5, 0.9]);
  if (found === null) return null;
  const [p10 = 0, p50 = 0, p90 = 0] = found;
  const count = countOf(histogram);
  return { count, mean: histogram.sum / count, p10, p50, p90 };
}

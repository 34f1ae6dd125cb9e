import { describe, expect, it } from "vitest";
import {
  addValue,
  BUCKETS,
  bucketOf,
  clearHistogram,
  countOf,
  createHistogram,
  mergeInto,
  percentiles,
  RELATIVE_ERROR,
  summarise,
  valueOf,
  type Histogram,
} from "./histogram.ts";
import { randomFrom } from "../base/random-from.ts";
import { createReader, createWriter, readHistogram, writeHistogram, written } from "./histogram-bytes.ts";

/** Values over many orders of size, in clumps, with repetitions and zeros: what links do. */
function valuesFor(seed: number): number[] {
  const random = randomFrom(seed);
  const count = 1 + Math.floor(random() * 2_000);
  const middle = 10 ** (random() * 9 - 1);
  const spread = random() * 4;
  return Array.from({ length: count }, () => {
    if (random() < 0.02) return 0;
    const value = middle * 10 ** ((random() - 0.5) * spread);
    return random() < 0.3 ? Math.round(value) : value;
  });
}

const of = (values: readonly number[]): Histogram => {
  const histogram = createHistogram();
  for (const value of values) addValue(histogram, value);
  return histogram;
};
const bytesOf = (histogram: Histogram): Uint8Array => {
  const writer = createWriter();
  writeHistogram(writer, histogram);
  return written(writer);
};
const fromBytes = (bytes: Uint8Array): Histogram => {
  const into = createHistogram();
  readHistogram(createReader(bytes), bytes.length, into);
  return into;
};
const SEEDS = Array.from({ length: 200 }, (_, seed) => seed);
const RANKS = [0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1];

describe("a histogram", () => {
  it("gives every percentile within two per cent of the exact one", () => {
    expect(RELATIVE_ERROR).toBeLessThan(0.02);
    for (const seed of SEEDS) {
      const values = valuesFor(seed);
      const found = percentiles(of(values), RANKS) ?? [];
      const sorted = values.toSorted((a, b) => a - b);
      for (const [index, rank] of RANKS.entries()) {
        const exact = sorted[Math.floor(rank * (sorted.length - 1))] ?? Number.NaN;
        const off = exact <= 2 ** -10 ? (found[index] ?? 1) : Math.abs((found[index] ?? 0) - exact) / exact;
        expect(off, `seed ${seed}, rank ${rank}, exact ${exact}`).toBeLessThanOrEqual(0.02);
      }
    }
  });

  it("of parts, merged in any order and grouping, is the histogram of the whole", () => {
    for (const seed of SEEDS) {
      const values = valuesFor(seed);
      const third = Math.ceil(values.length / 3);
      const parts = [0, 1, 2].map((part) => values.slice(part * third, (part + 1) * third));
      const [a, b, c] = [of(parts[0] ?? []), of(parts[1] ?? []), of(parts[2] ?? [])];
      const merge = (...all: Histogram[]) => {
        const into = createHistogram();
        for (const one of all) mergeInto(into, one);
        return into;
      };
      const whole = of(values);
      for (const merged of [merge(merge(a, b), c), merge(a, merge(b, c)), merge(c, a, b)]) {
        expect(merged.counts).toEqual(whole.counts);
        expect([merged.least, merged.most]).toEqual([whole.least, whole.most]);
        expect(Math.abs(merged.sum - whole.sum)).toBeLessThanOrEqual(whole.sum * 1e-12);
      }
    }
  });

  it("survives being written and read", () => {
    for (const seed of SEEDS) {
      const histogram = of(valuesFor(seed));
      const back = fromBytes(bytesOf(histogram));
      expect(back).toEqual(histogram);
    }
    expect(countOf(fromBytes(bytesOf(createHistogram())))).toBe(0);
  });

  it("of an hour of a link that varies by a third takes less than 60 bytes", () => {
    const random = randomFrom(7);
    const hour = of(Array.from({ length: 60 }, () => 1e6 * (1 + (random() - 0.5) / 1.5)));
    expect(bytesOf(hour).length).toBeLessThan(60);
  });

  it("knows count and mean exactly, and says nothing when it is empty", () => {
    expect(summarise(of([1, 2, 3, 10]))).toMatchObject({ count: 4, mean: 4 });
    expect(summarise(createHistogram())).toBeNull();
  });

  it("leaves out what is no amount, and keeps what is beyond its buckets in the last one", () => {
    expect(countOf(of([Number.NaN, -1, Infinity]))).toBe(0);
    expect(bucketOf(1e300)).toBe(BUCKETS - 1);
    expect(bucketOf(Number.MIN_VALUE)).toBe(0);
    for (let bucket = 0; bucket < BUCKETS; bucket++) expect(bucketOf(valueOf(bucket))).toBe(bucket);
  });

  it("is as new when it was cleared", () => {
    const histogram = of(valuesFor(3));
    clearHistogram(histogram);
    expect(histogram).toEqual(createHistogram());
  });

  it("refuses bytes that are none of its own", () => {
    expect(() => fromBytes(Uint8Array.of(1, 2, 3))).toThrow(RangeError);
    expect(() => fromBytes(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0xff))).toThrow(RangeError);
    expect(() => fromBytes(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 1, 1))).toThrow(RangeError);
  });
});

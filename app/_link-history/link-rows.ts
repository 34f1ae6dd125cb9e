import type { Measure, PercentileRow } from "#protocol/history/history.ts";

/** Time ranges of the history; `id` is the value in the address. */
export const HISTORY_RANGES = [
  { id: "1d", label: "1 d", words: "day", days: 1 },
  { id: "7d", label: "7 d", words: "7 days", days: 7 },
  { id: "30d", label: "30 d", words: "30 days", days: 30 },
  { id: "1y", label: "1 y", words: "year", days: 365 },
] as const;

export const historyRangeOf = (word: string) => HISTORY_RANGES.find((range) => range.id === word) ?? HISTORY_RANGES[2];

const WORDS: Record<Measure, string> = { up: "up", down: "down", rtt: "round trip" };
const ORDER = Object.keys(WORDS);
export const measureWords = (measure: Measure): string => WORDS[measure];

/** Sorts rows by bucket, then up, down, round trip. The bucket is named in its first row. */
export function byBucket(rows: readonly PercentileRow[]): { row: PercentileRow; isFirst: boolean }[] {
  const sorted = rows.toSorted(
    (a, b) =>
      a.label.localeCompare(b.label) ||
      a.key.localeCompare(b.key) ||
      ORDER.indexOf(a.measure) - ORDER.indexOf(b.measure),
  );
  return sorted.map((row, index) => ({ row, isFirst: sorted[index - 1]?.key !== row.key }));
}

/** Time ranges of the charts; `id` is the value in the address. */
export const RANGES = [
  { id: "15m", label: "15 m", words: "15 minutes", minutes: 15 },
  { id: "1h", label: "1 h", words: "hour", minutes: 60 },
  { id: "6h", label: "6 h", words: "6 hours", minutes: 360 },
  { id: "1d", label: "1 d", words: "day", minutes: 1440 },
  { id: "7d", label: "7 d", words: "7 days", minutes: 10_080 },
] as const;
export type Range = (typeof RANGES)[number];

export const rangeOf = (word: string): Range => RANGES.find((range) => range.id === word) ?? RANGES[1];

const MINUTE = 60_000;
/** Approximate number of points per chart. In longer ranges each point covers several minutes. */
const POINTS = 720;

/** Returns the longest distance between two points of a node that reports, in milliseconds. */
export const breakAfterMs = (range: Range): number => 3.5 * Math.max(1, Math.ceil(range.minutes / POINTS)) * MINUTE;

/** Shortest time that a chart shows, in milliseconds, however recent its first sample is. */
const LEAST = 2 * MINUTE;

export interface ChartWindow {
  from: number;
  to: number;
  /** Start of the window when the samples begin late in the range; null when the chart shows the whole range. */
  since: number | null;
}

/**
 * Returns the part of a range that a chart shows. It starts at the first sample, unless that is in the first tenth of the
 * range.
 */
export function chartWindow(at: { first: number | undefined; now: number; minutes: number }): ChartWindow {
  const span = at.minutes * MINUTE;
  const whole = at.now - span;
  if (at.first === undefined || at.first - whole < span / 10) return { from: whole, to: at.now, since: null };
  const from = Math.max(whole, Math.min(at.first, at.now - LEAST));
  return { from, to: at.now, since: from };
}

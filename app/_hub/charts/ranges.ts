/** Time ranges of the charts, as they stand in the address. */
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
/** Charts get about so many points of a range; of longer ones each stands for several minutes. */
const POINTS = 720;

/** Of a node that is heard, no two points of a chart are further apart. */
export const breakAfterMs = (range: Range): number => 3.5 * Math.max(1, Math.ceil(range.minutes / POINTS)) * MINUTE;

/** A chart never shows less than this, however young what it shows is. */
const LEAST = 2 * MINUTE;

export interface ChartWindow {
  from: number;
  to: number;
  /** Where it starts when there was nothing before; null when it spans the whole range. */
  since: number | null;
}

/** The part of a range that a chart shows: all of it, or from the first sample on when most of it lies before that. */
export function chartWindow(at: { first: number | undefined; now: number; minutes: number }): ChartWindow {
  const span = at.minutes * MINUTE;
  const whole = at.now - span;
  if (at.first === undefined || at.first - whole < span / 10) return { from: whole, to: at.now, since: null };
  const from = Math.max(whole, Math.min(at.first, at.now - LEAST));
  return { from, to: at.now, since: from };
}

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

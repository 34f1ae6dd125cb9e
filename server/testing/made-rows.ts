import { NO_NUMBERS, type LinkRow } from "../features/advice/link-row.ts";

/** For tests: link histories with known answers. */
export const NOW = 1_800_000_000_000;
export const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

export const row = (changes: Partial<LinkRow>): LinkRow => ({
  at: NOW - DAY_MS,
  kind: "upload",
  node: 1,
  profileId: "east",
  nodeRegion: "",
  benchmark: null,
  isUsed: true,
  outcome: "done",
  ...NO_NUMBERS,
  ...changes,
});

/** Returns `count` rows, an hour apart, the last one an hour before the end of `daysAgo`; `of` gets the index of each. */
export const rows = (count: number, of: (index: number) => Partial<LinkRow>, daysAgo = 0): LinkRow[] =>
  Array.from({ length: count }, (_, index) =>
    row({ at: NOW - daysAgo * DAY_MS - (count - index) * HOUR_MS, ...of(index) }),
  );

/** Returns the same noise each time, from -1 to 1. */
export const noise = (index: number): number => Math.sin(index * 12.9898) * Math.cos(index * 78.233);

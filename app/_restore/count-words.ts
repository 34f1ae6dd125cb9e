import { formatCount } from "#protocol/base/units.ts";

/** Returns "1 file", "12 files". */
export const countWords = (count: number, what: string): string =>
  `${formatCount(count)} ${what}${count === 1 ? "" : "s"}`;

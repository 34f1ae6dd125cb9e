import type { Resumed } from "./training.ts";

/**
 * Returns the ms since `writtenAt` (epoch ms) in which nothing trained: from the writing of the resumed checkpoint to the
 * start of the program. After several starts only the last gap counts, so the result is never too large.
 */
export function idleMsSince(writtenAt: number, resumed: Resumed | undefined): number {
  if (resumed === undefined) return 0;
  return Math.max(0, Math.round(resumed.at - Math.max(writtenAt, resumed.fromAt ?? writtenAt)));
}

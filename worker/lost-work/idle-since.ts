import type { Resumed } from "./training.ts";

/**
 * Of the time since something was written (epoch ms), that in which nothing trained: between what the last start went on from
 * and that start. Of several starts since then the last one counts, so that it is never more than it was.
 */
export function idleMsSince(writtenAt: number, resumed: Resumed | undefined): number {
  if (resumed === undefined) return 0;
  return Math.max(0, Math.round(resumed.at - Math.max(writtenAt, resumed.fromAt ?? writtenAt)));
}

import { startOfDay } from "../../_ui/text/times.ts";

/** Filters of lists, by the hub's own rules: part of a name, and days in the zone chosen in this browser. */

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Returns when the day `days` later begins; null for an invalid day. */
function startOf(day: string, days: 0 | 1): number | null {
  const at = DAY.test(day) ? startOfDay(day, days) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}

/**
 * Returns the start of the first day and the end of the last day, epoch ms; null where no day is given. Days are `2026-11-22`.
 */
export function spanOfDays({ fromDay, toDay }: { fromDay: string; toDay: string }): {
  from: number | null;
  to: number | null;
} {
  return { from: startOf(fromDay, 0), to: startOf(toDay, 1) };
}

export const holdsWords = (text: string | null, words: string): boolean =>
  words === "" || (text?.toLowerCase().includes(words.trim().toLowerCase()) ?? false);

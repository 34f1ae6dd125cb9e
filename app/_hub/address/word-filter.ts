import { startOfDay } from "../../_ui/text/times.ts";

/** What lists are narrowed by, here as at the hub: part of a name, and days of the zone this browser chose. */

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** The day `days` later begins then; null for what is no day. */
function startOf(day: string, days: 0 | 1): number | null {
  const at = DAY.test(day) ? startOfDay(day, days) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}

/** From the first moment of `2026-11-22` to the first one after the last day, epoch ms; null where no day is named. */
export function spanOfDays({ fromDay, toDay }: { fromDay: string; toDay: string }): {
  from: number | null;
  to: number | null;
} {
  return { from: startOf(fromDay, 0), to: startOf(toDay, 1) };
}

export const holdsWords = (text: string | null, words: string): boolean =>
  words === "" || (text?.toLowerCase().includes(words.trim().toLowerCase()) ?? false);

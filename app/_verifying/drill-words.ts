import { formatDuration } from "#protocol/base/units.ts";
import type { DrillView } from "#protocol/wire/verifying.ts";

const DAY_MS = 86_400_000;

/** Choices for the interval of drills. */
export const DRILL_CHOICES = [
  { value: "0", label: "Never" },
  { value: String(DAY_MS), label: "Every day" },
  { value: String(7 * DAY_MS), label: "Every week" },
  { value: String(30 * DAY_MS), label: "Every 30 days" },
] as const;

const oftenWords = (everyMs: number): string =>
  DRILL_CHOICES.find(({ value }) => value === String(everyMs))?.label ?? `Every ${formatDuration(everyMs)}`;

/** Returns the choice that uses the default, such as `As all runs: every week`. */
export const usualWords = (usualMs: number): string => `As all runs: ${oftenWords(usualMs).toLowerCase()}`;

/** Returns when the next drill runs, or why it does not. */
export function nextWords({ everyMs, nextAt, waitsFor, last }: DrillView, now: number): string {
  if (everyMs === 0) return "Restores of this run are not rehearsed.";
  if (last[0] !== undefined && last[0].endedAt === null) return "One is running.";
  if (waitsFor !== null) return `The next one is due and waits for ${waitsFor}.`;
  return nextAt === null || now === 0 ? "" : `The next one comes in ${formatDuration(Math.max(0, nextAt - now))}.`;
}

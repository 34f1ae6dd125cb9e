import { HOUR_MS, HOURS_A_DAY } from "../stretch.ts";
import type { Kept } from "../../api/ports/history-questions.ts";

/** Rows that answer for a range: whole days where they exist, hours at both ends, and a tail that no row holds yet. Pure. */
export interface RangePlan {
  /** The range after it was widened to whole hours or days, epoch ms. */
  from: number;
  to: number;
  /** Interval numbers, the end exclusive; empty when the end is not above the beginning. */
  days: readonly [number, number];
  hours: readonly (readonly [number, number])[];
  /** The range to count from minutes and records, epoch ms; null when rows hold everything. */
  tail: readonly [number, number] | null;
}

export function planRange(range: { from: number; to: number }, kept: Kept): RangePlan {
  const { hourThrough, dayThrough, oldestHour } = kept;
  const dayHours = dayThrough * HOURS_A_DAY;
  let first = Math.floor(range.from / HOUR_MS);
  let last = Math.ceil(range.to / HOUR_MS);
  if (first < oldestHour) first = Math.floor(first / HOURS_A_DAY) * HOURS_A_DAY;
  if (last < oldestHour && last <= dayHours) last = Math.ceil(last / HOURS_A_DAY) * HOURS_A_DAY;
  const days = [Math.ceil(first / HOURS_A_DAY), Math.min(Math.floor(last / HOURS_A_DAY), dayThrough)] as const;
  const inRows = Math.min(last, hourThrough);
  const hours =
    days[0] < days[1]
      ? ([
          [first, days[0] * HOURS_A_DAY],
          [days[1] * HOURS_A_DAY, inRows],
        ] as const)
      : ([[first, inRows]] as const);
  const tailFrom = Math.max(first, hourThrough);
  return {
    from: first * HOUR_MS,
    to: last * HOUR_MS,
    days,
    hours: hours.filter(([from, to]) => from < to),
    tail: tailFrom < last ? [tailFrom * HOUR_MS, last * HOUR_MS] : null,
  };
}

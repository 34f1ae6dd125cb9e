"use client";
import { formatDuration } from "#protocol/units.ts";
import { useHubNow } from "./live.tsx";
import { clockTime, dayOf, fullTime, shortDay } from "../_ui/times.ts";

/** `6 min ago`, by the hub's clock; the full time is in the title. */
export function Age({ at, suffix = " ago" }: { at: number; suffix?: string }) {
  const now = useHubNow(10_000);
  if (now === 0) return null;
  const passed = now - at;
  return (
    <time dateTime={new Date(at).toISOString()} title={fullTime(at)} className="nums">
      {passed < 5000 ? "just now" : `${formatDuration(passed)}${suffix}`}
    </time>
  );
}

/** `13:53`, with the day when it is not today. */
export function ClockTime({ at }: { at: number }) {
  const now = useHubNow(10_000);
  const date = new Date(at);
  const today = now !== 0 && dayOf(now) === dayOf(at);
  return (
    <time dateTime={date.toISOString()} title={fullTime(at)} className="nums">
      {today ? clockTime(at) : shortDay(at)}
    </time>
  );
}

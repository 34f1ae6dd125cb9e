"use client";
import { formatDuration } from "#protocol/base/units.ts";
import { useHubNow, useTimeWords } from "./live.tsx";
import { clockTime, dayOf, fullTime, shortDay } from "../../_ui/text/times.ts";

/** `6 min ago`, by the hub's clock; the full time is in the title. */
export function Age({ at, suffix = " ago" }: { at: number; suffix?: string }) {
  // Each second, as every other age of the page: two of the same moment never differ.
  const words = useTimeWords((now) =>
    now === 0 ? "" : now - at < 5000 ? "just now" : `${formatDuration(now - at)}${suffix}`,
  );
  if (words === "") return null;
  return (
    <time dateTime={new Date(at).toISOString()} title={fullTime(at)} className="nums">
      {words}
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

"use client";
import { formatDuration } from "#protocol/base/units.ts";
import { useHubNow, useTimeWords } from "./live.tsx";
import { clockTime, dayOf, fullTime, shortDay } from "../../_ui/text/times.ts";

/** Shows `6 min ago` by the hub's clock; the title holds the full time. */
export function Age({ at, suffix = " ago" }: { at: number; suffix?: string }) {
  // On the shared tick of one second, so that two ages of the same moment never differ on a page.
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

/** Shows `13:53`, or the day when it is not today. */
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

/**
 * Formats times in the zone chosen in this browser: local, or UTC, as in logs. Not reactive: a page must
 * render again after a change of the zone. Formatters are cached, because creating one costs more than a thousand uses of it.
 */

export type Zone = "local" | "utc";

let zone: Zone = "local";
/** Formatters in the chosen zone, by their options. */
const made = new Map<Intl.DateTimeFormatOptions, Intl.DateTimeFormat>();

export const timeZone = (): Zone => zone;

export function setTimeZone(next: Zone): void {
  zone = next;
  made.clear();
}

function words(at: number, options: Intl.DateTimeFormatOptions): string {
  let format = made.get(options);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-GB", { ...options, ...(zone === "utc" ? { timeZone: "UTC" } : {}) });
    made.set(options, format);
  }
  return format.format(at);
}

const TIME = { hour: "2-digit", minute: "2-digit" } as const;
const SECONDS = { ...TIME, second: "2-digit" } as const;
const SECONDS_AND_ZONE = { ...SECONDS, timeZoneName: "short" } as const;
const DAY = { day: "numeric", month: "short" } as const;
const DAY_AND_YEAR = { ...DAY, year: "numeric" } as const;
const LONG_DAY = { weekday: "long", day: "numeric", month: "long", year: "numeric" } as const;
const YEAR = { year: "numeric" } as const;

/** Returns a time such as `13:05`. */
export const clockTime = (at: number): string => words(at, TIME);

/** Returns a time such as `13:05:42`. */
export const clockSeconds = (at: number): string => words(at, SECONDS);

/** Returns a date such as `22 Nov`. */
export const shortDay = (at: number): string => words(at, DAY);

/** Returns a date such as `22 Nov 2026`. */
export const dayOf = (at: number): string => words(at, DAY_AND_YEAR);

/** Returns a date such as `Sunday, 22 November 2026`. */
export const longDay = (at: number): string => words(at, LONG_DAY);

/** Formats as `22 Nov, 13:53:07`, with the year when it differs from that of `now`. */
export function momentOf(at: number, now: number): string {
  const day = words(at, YEAR) === words(now, YEAR) ? shortDay(at) : dayOf(at);
  return `${day}, ${clockSeconds(at)}`;
}

/** Formats as `22 Nov 2026, 13:53:07 UTC`, unambiguous in any zone. */
export const fullTime = (at: number): string => `${dayOf(at)}, ${words(at, SECONDS_AND_ZONE)}`;

/** Returns the milliseconds to add to local time of the chosen zone to get UTC, at that moment. */
export const zoneShiftMs = (at: number): number => (zone === "utc" ? 0 : new Date(at).getTimezoneOffset() * 60_000);

/** Returns when a day (`2026-11-22`), or the day `later` days after it, begins in the chosen zone; NaN for an invalid day. */
export function startOfDay(day: string, later = 0): number {
  const at = new Date(zone === "utc" ? `${day}T00:00:00Z` : `${day}T00:00:00`);
  // Counts calendar days, because a day has 23 or 25 hours at a daylight-saving change.
  if (zone === "utc") at.setUTCDate(at.getUTCDate() + later);
  else at.setDate(at.getDate() + later);
  return at.getTime();
}

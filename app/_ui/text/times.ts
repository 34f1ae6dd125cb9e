/**
 * Times in the zone this browser chose: that of its own clock, or UTC, which is what logs and other people speak of.
 * Whoever changes it draws the page anew: these words are read, not watched. Formatters are kept: making one costs more
 * than a thousand uses of it.
 */

export type Zone = "local" | "utc";

let zone: Zone = "local";
/** By what they say, in the chosen zone. */
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

/** `13:05`. */
export const clockTime = (at: number): string => words(at, TIME);

/** `13:05:42`. */
export const clockSeconds = (at: number): string => words(at, SECONDS);

/** `22 Nov`. */
export const shortDay = (at: number): string => words(at, DAY);

/** `22 Nov 2026`. */
export const dayOf = (at: number): string => words(at, DAY_AND_YEAR);

/** `Sunday, 22 November 2026`. */
export const longDay = (at: number): string => words(at, LONG_DAY);

/** `22 Nov, 13:53:07`, with the year when it is another one than that of `now`. */
export function momentOf(at: number, now: number): string {
  const day = words(at, YEAR) === words(now, YEAR) ? shortDay(at) : dayOf(at);
  return `${day}, ${clockSeconds(at)}`;
}

/** `22 Nov 2026, 13:53:07 UTC`: nothing left to guess. */
export const fullTime = (at: number): string => `${dayOf(at)}, ${words(at, SECONDS_AND_ZONE)}`;

/** Milliseconds to add to the clock of the chosen zone for UTC, at that time. */
export const zoneShiftMs = (at: number): number => (zone === "utc" ? 0 : new Date(at).getTimezoneOffset() * 60_000);

/** When a day (`2026-11-22`), or the one `later` days after it, begins in the chosen zone; NaN for what is no day. */
export function startOfDay(day: string, later = 0): number {
  const at = new Date(zone === "utc" ? `${day}T00:00:00Z` : `${day}T00:00:00`);
  // By the calendar, as a day has 23 or 25 hours where clocks are put on or back.
  if (zone === "utc") at.setUTCDate(at.getUTCDate() + later);
  else at.setDate(at.getDate() + later);
  return at.getTime();
}

import { Fault } from "#protocol/faults/fault.ts";
import { parseSize } from "#protocol/wire/read-units.ts";

/**
 * A bandwidth limit: one rate, or a timetable of the day. Accepted forms are `8MB`, `off`,
 * `08:00-18:00=2MB,18:00-23:00=5MB,0` (the first matching window wins; the rate without a window is for the rest of the
 * day), and rclone's `08:00,512k 19:00,10M 23:00,off` (each rate holds until the next time). Rates are bytes per second.
 * A window may pass midnight. Times are local wall-clock times, so windows follow daylight saving changes.
 */
export interface Timetable {
  /** Minutes of the day, `from` inclusive, `to` exclusive; `from` > `to` passes midnight. */
  windows: readonly { from: number; to: number; bytesPerSecond: number }[];
  otherwiseBytesPerSecond: number;
}

export const NO_LIMIT: Timetable = { windows: [], otherwiseBytesPerSecond: 0 };

const DAY_MINUTES = 24 * 60;
const MINUTE_MS = 60_000;
/** A day on which clocks are set back is longer than 24 hours. */
const LONGEST_DAY_MINUTES = 27 * 60;

const WINDOW = /^(\d{1,2}:\d{2})\s*-\s*(\d{1,2}:\d{2})\s*=\s*(.*)$/;
const SINCE = /^(\d{1,2}:\d{2})\s*,\s*(\S+)$/;
const WORDS_FOR_NONE = new Set(["off", "none", "unlimited"]);

/** Reads a limit. @throws Fault BAD_INPUT whose detail says what cannot be read and what a limit looks like. */
export function parseTimetable(text: string): Timetable {
  const trimmed = text.trim();
  if (trimmed === "") throw refuse("it is empty");
  return /\d{1,2}:\d{2}\s*,/.test(trimmed) && !trimmed.includes("=") ? parseSince(trimmed) : parseWindows(trimmed);
}

function parseWindows(text: string): Timetable {
  const windows: { from: number; to: number; bytesPerSecond: number }[] = [];
  let otherwise: number | null = null;
  for (const entry of text.split(",").map((part) => part.trim())) {
    const match = WINDOW.exec(entry);
    if (match === null) {
      if (/^\d{1,2}:\d{2}\s*-/.test(entry)) throw refuse(`"${entry}" has no rate`);
      if (otherwise !== null) throw refuse(`"${entry}" is a second rate for the rest of the day`);
      otherwise = parseRate(entry);
      continue;
    }
    const from = parseTime(match[1] ?? "");
    const to = parseTime(match[2] ?? "");
    if (from === to) throw refuse(`"${entry}" begins when it ends`);
    windows.push({ from: from % DAY_MINUTES, to, bytesPerSecond: parseRate(match[3] ?? "") });
  }
  return { windows, otherwiseBytesPerSecond: otherwise ?? 0 };
}

/** Each rate holds from its time to the next one, the last one until the first of the next day. */
function parseSince(text: string): Timetable {
  const marks = text
    .split(/\s+(?=\S*:)/)
    .map((entry) => {
      const match = SINCE.exec(entry);
      if (match === null) throw refuse(`"${entry}" is not a time and a rate`);
      const rate = match[2] ?? "";
      // A bare number is KiB in rclone and bytes here, so a unit is required.
      if (/^\d*[1-9]\d*$/.test(rate)) throw refuse(`"${entry}" has no unit: write ${rate}k or ${rate}M`);
      return { from: parseTime(match[1] ?? "") % DAY_MINUTES, bytesPerSecond: parseRate(rate) };
    })
    .sort((a, b) => a.from - b.from);
  const [first] = marks;
  if (first === undefined) throw refuse("it is empty");
  if (marks.length === 1) return { windows: [], otherwiseBytesPerSecond: first.bytesPerSecond };
  const windows = marks.map((mark, at) => {
    const to = (marks[at + 1] ?? first).from;
    if (to === mark.from) throw refuse("the same time stands there twice");
    return { ...mark, to };
  });
  return { windows, otherwiseBytesPerSecond: 0 };
}

function parseTime(text: string): number {
  const [hours = 0, minutes = 0] = text.split(":").map(Number);
  const total = hours * 60 + minutes;
  if (minutes > 59 || total > DAY_MINUTES) throw refuse(`${text} is not a time of day`);
  return total;
}

function parseRate(text: string): number {
  const trimmed = text.trim();
  if (WORDS_FOR_NONE.has(trimmed.toLowerCase())) return 0;
  try {
    return parseSize(trimmed.replace(/\/s$/i, ""));
  } catch (error) {
    throw refuse(`"${text}" is not a rate`, error);
  }
}

function refuse(what: string, cause?: unknown): Fault {
  const detail = `${what}; a limit looks like 8MB (bytes per second), off, or 08:00-18:00=2MB,18:00-23:00=5MB,off`;
  return new Fault("BAD_INPUT", { detail, ...(cause === undefined ? {} : { cause }) });
}

/** Tells the minute of the day, 0 to 1439, that a wall clock shows at an instant (epoch ms). */
export type WallClock = (epochMs: number) => number;

/**
 * Returns the wall clock of a time zone (`Europe/Berlin`), or of this machine for null.
 * @throws Fault BAD_INPUT for an unknown zone.
 */
export function wallClockOf(zone: string | null): WallClock {
  if (zone === null) {
    return (epochMs) => {
      const date = new Date(epochMs);
      return date.getHours() * 60 + date.getMinutes();
    };
  }
  try {
    const format = new Intl.DateTimeFormat("en-GB", {
      timeZone: zone,
      hour: "2-digit",
      minute: "2-digit",
      hourCycle: "h23",
    });
    return (epochMs) => parseTime(format.format(epochMs));
  } catch (error) {
    throw new Fault("BAD_INPUT", { detail: "a time zone looks like Europe/Berlin or UTC", cause: error });
  }
}

const rateOf = (timetable: Timetable, minute: number): number =>
  timetable.windows.find(({ from, to }) => (from < to ? minute >= from && minute < to : minute >= from || minute < to))
    ?.bytesPerSecond ?? timetable.otherwiseBytesPerSecond;

/**
 * Returns the rate in force at `epochMs` (bytes per second, 0 is no limit) and the ms until it changes; null when it never
 * changes.
 */
export function rateAt(
  timetable: Timetable,
  epochMs: number,
  clock: WallClock,
): { bytesPerSecond: number; changesInMs: number | null } {
  const bytesPerSecond = rateOf(timetable, clock(epochMs));
  if (timetable.windows.every((window) => window.bytesPerSecond === timetable.otherwiseBytesPerSecond)) {
    return { bytesPerSecond, changesInMs: null };
  }
  // Steps minute by minute, because daylight saving changes show only in the wall clock.
  const minuteStart = epochMs - (epochMs % MINUTE_MS);
  for (let minutes = 1; minutes <= LONGEST_DAY_MINUTES; minutes++) {
    const then = minuteStart + minutes * MINUTE_MS;
    if (rateOf(timetable, clock(then)) !== bytesPerSecond) return { bytesPerSecond, changesInMs: then - epochMs };
  }
  return { bytesPerSecond, changesInMs: null };
}

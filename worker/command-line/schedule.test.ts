import { describe, expect, test } from "vitest";
import { NO_LIMIT, parseTimetable, rateAt, wallClockOf } from "./schedule.ts";

const utc = wallClockOf("UTC");
const at = (iso: string) => Date.parse(iso);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("reading a limit", () => {
  test("one rate holds all day; 0 and off are no limit", () => {
    for (const [text, rate] of [
      ["8MB", 8_000_000],
      ["4MB/s", 4_000_000],
      ["512KiB", 524_288],
      ["0", 0],
      ["off", 0],
    ] as const) {
      expect(rateAt(parseTimetable(text), at("2026-03-01T12:00Z"), utc)).toEqual({
        bytesPerSecond: rate,
        changesInMs: null,
      });
    }
  });

  test("the two ways to write the same day mean the same", () => {
    const ours = parseTimetable("08:00-19:00=512k, 19:00-23:00=10M, off");
    const theirs = parseTimetable("08:00,512k 19:00,10M 23:00,off");
    for (let minute = 0; minute < 24 * 60; minute += 7) {
      const now = at("2026-03-01T00:00Z") + minute * MINUTE;
      expect(rateAt(theirs, now, utc)).toEqual(rateAt(ours, now, utc));
    }
  });

  test.each([
    ["", "it is empty"],
    ["fast", '"fast" is not a rate'],
    ["25:00-26:00=1MB", "25:00 is not a time of day"],
    ["08:60-09:00=1MB", "08:60 is not a time of day"],
    ["08:00-18:00", "has no rate"],
    ["08:00-18:00=quick", '"quick" is not a rate'],
    ["08:00-08:00=1MB", "begins when it ends"],
    ["1MB,2MB", "second rate for the rest of the day"],
    ["08:00,512 19:00,10M", "has no unit: write 512k or 512M"],
    ["Mon-08:00,512k", "is not a time and a rate"],
    ["08:00,1M 08:00,2M", "the same time stands there twice"],
  ])("%j is refused with the reason and an example", (text, reason) => {
    expect(() => parseTimetable(text)).toThrow(
      expect.objectContaining({
        code: "BAD_INPUT",
        context: expect.objectContaining({ detail: expect.stringContaining(reason) }),
      }),
    );
    expect(() => parseTimetable(text)).toThrow(
      expect.objectContaining({
        context: expect.objectContaining({ detail: expect.stringContaining("08:00-18:00=2MB") }),
      }),
    );
  });
});

describe("the rate that holds now", () => {
  const day = parseTimetable("08:00-18:00=2MB,18:00-23:00=5MB,0");

  test.each([
    ["2026-03-01T07:59:30Z", 0, 30_000],
    ["2026-03-01T08:00:00Z", 2_000_000, 10 * HOUR],
    ["2026-03-01T17:59:59.999Z", 2_000_000, 1],
    ["2026-03-01T18:00:00Z", 5_000_000, 5 * HOUR],
    ["2026-03-01T23:00:00Z", 0, 9 * HOUR],
  ])("at %s it is %i for %i ms", (iso, bytesPerSecond, changesInMs) => {
    expect(rateAt(day, at(iso), utc)).toEqual({ bytesPerSecond, changesInMs });
  });

  test("a window may pass midnight, and may end at 24:00", () => {
    const night = parseTimetable("22:00-06:00=9MB,1MB");
    expect(rateAt(night, at("2026-03-01T23:30Z"), utc)).toEqual({ bytesPerSecond: 9_000_000, changesInMs: 6.5 * HOUR });
    expect(rateAt(night, at("2026-03-02T05:59Z"), utc)).toEqual({ bytesPerSecond: 9_000_000, changesInMs: MINUTE });
    expect(rateAt(night, at("2026-03-02T06:00Z"), utc)).toEqual({ bytesPerSecond: 1_000_000, changesInMs: 16 * HOUR });
    const evening = parseTimetable("20:00-24:00=1MB,0");
    expect(rateAt(evening, at("2026-03-01T23:59Z"), utc)).toEqual({ bytesPerSecond: 1_000_000, changesInMs: MINUTE });
  });

  test("the first window that holds decides", () => {
    const lunch = parseTimetable("12:00-13:00=1MB,08:00-18:00=2MB");
    expect(rateAt(lunch, at("2026-03-01T12:30Z"), utc).bytesPerSecond).toBe(1_000_000);
    expect(rateAt(lunch, at("2026-03-01T13:00Z"), utc).bytesPerSecond).toBe(2_000_000);
  });

  test("no limit never changes", () => {
    expect(rateAt(NO_LIMIT, 0, utc)).toEqual({ bytesPerSecond: 0, changesInMs: null });
  });
});

describe("when clocks are set", () => {
  const berlin = wallClockOf("Europe/Berlin");
  const morning = parseTimetable("02:30-08:00=1MB,0");

  test("an hour that is left out shortens what is before it, and a window that begins in it begins after it", () => {
    // 02:00 becomes 03:00 at 01:00 UTC.
    expect(rateAt(morning, at("2026-03-29T00:30Z"), berlin)).toEqual({ bytesPerSecond: 0, changesInMs: 30 * MINUTE });
    expect(rateAt(morning, at("2026-03-29T01:00Z"), berlin)).toEqual({
      bytesPerSecond: 1_000_000,
      changesInMs: 5 * HOUR,
    });
  });

  test("an hour that comes twice counts twice", () => {
    // 03:00 becomes 02:00 at 01:00 UTC: the wall clock leaves the window and comes into it again.
    expect(rateAt(morning, at("2026-10-25T00:30Z"), berlin)).toEqual({
      bytesPerSecond: 1_000_000,
      changesInMs: 30 * MINUTE,
    });
    expect(rateAt(morning, at("2026-10-25T01:00Z"), berlin)).toEqual({ bytesPerSecond: 0, changesInMs: 30 * MINUTE });
    // From evening to eight o'clock it is an hour longer than on other days.
    const evening = parseTimetable("20:00-08:00=1MB,0");
    expect(rateAt(evening, at("2026-10-24T18:00Z"), berlin).changesInMs).toBe(13 * HOUR);
    expect(rateAt(evening, at("2026-10-23T18:00Z"), berlin).changesInMs).toBe(12 * HOUR);
  });

  test("a zone with half hours is read like any other, an unknown one is refused", () => {
    expect(wallClockOf("Asia/Kolkata")(at("2026-03-01T00:00Z"))).toBe(5 * 60 + 30);
    expect(() => wallClockOf("Mars/Olympus")).toThrow(expect.objectContaining({ code: "BAD_INPUT" }));
  });

  test("without a zone it is the clock of this machine", () => {
    const now = at("2026-03-01T12:34Z");
    expect(wallClockOf(null)(now)).toBe(new Date(now).getHours() * 60 + new Date(now).getMinutes());
  });
});

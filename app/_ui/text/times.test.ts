import { afterEach, expect, test } from "vitest";
import {
  clockSeconds,
  clockTime,
  dayOf,
  fullTime,
  longDay,
  momentOf,
  setTimeZone,
  startOfDay,
  zoneShiftMs,
} from "./times.ts";

const AT = Date.UTC(2026, 10, 22, 23, 53, 7);

afterEach(() => setTimeZone("local"));

test("where UTC was chosen every time and day is said in it", () => {
  setTimeZone("utc");
  expect(clockTime(AT)).toBe("23:53");
  expect(clockSeconds(AT)).toBe("23:53:07");
  expect(dayOf(AT)).toBe("22 Nov 2026");
  expect(longDay(AT)).toBe("Sunday, 22 November 2026");
  expect(fullTime(AT)).toBe("22 Nov 2026, 23:53:07 UTC");
  expect(zoneShiftMs(AT)).toBe(0);
  expect(startOfDay("2026-11-22")).toBe(Date.UTC(2026, 10, 22));
});

test("otherwise by the clock of whoever looks", () => {
  const local = new Date(2026, 4, 3, 9, 5, 8).getTime();
  expect(clockSeconds(local)).toBe("09:05:08");
  expect(dayOf(local)).toBe("3 May 2026");
  expect(zoneShiftMs(local)).toBe(new Date(local).getTimezoneOffset() * 60_000);
  expect(startOfDay("2026-05-03")).toBe(new Date(2026, 4, 3).getTime());
});

test("a moment names its year only when it is another one", () => {
  setTimeZone("utc");
  expect(momentOf(AT, AT + 1000)).toBe("22 Nov, 23:53:07");
  expect(momentOf(AT, Date.UTC(2027, 0, 2))).toBe("22 Nov 2026, 23:53:07");
});

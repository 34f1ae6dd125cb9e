import { expect, test } from "vitest";
import { chartWindow } from "./ranges.ts";

const MINUTE = 60_000;
const now = 1_000_000 * MINUTE;

test("a chart spans its whole range when there is something from its beginning", () => {
  expect(chartWindow({ first: now - 59 * MINUTE, now, minutes: 60 })).toEqual({
    from: now - 60 * MINUTE,
    to: now,
    since: null,
  });
});

test("a chart begins with its first sample when most of the range lies before it", () => {
  const from = now - 20 * MINUTE;
  expect(chartWindow({ first: from, now, minutes: 60 })).toEqual({ from, to: now, since: from });
});

test("a chart of a moment still spans two minutes", () => {
  expect(chartWindow({ first: now - 1000, now, minutes: 60 }).from).toBe(now - 2 * MINUTE);
});

test("without samples the whole range is shown", () => {
  expect(chartWindow({ first: undefined, now, minutes: 15 }).since).toBeNull();
});

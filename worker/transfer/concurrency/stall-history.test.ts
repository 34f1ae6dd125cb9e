import { expect, test } from "vitest";
import { createSilences } from "./stall-history.ts";

test("the longest counts, and half as much every ten seconds", () => {
  let now = 0;
  const silences = createSilences(() => now);
  expect(silences.longestMs()).toBe(0);
  silences.ended(50);
  expect(silences.longestMs()).toBe(0);
  silences.ended(2_000);
  silences.ended(1_000);
  expect(silences.longestMs()).toBe(2_000);
  now = 10_000;
  expect(silences.longestMs()).toBe(1_000);
  silences.ended(1_200);
  expect(silences.longestMs()).toBe(1_200);
});

test("an outage says nothing of the next silence", () => {
  const silences = createSilences(() => 0);
  silences.ended(60_000);
  expect(silences.longestMs()).toBe(3_000);
});

import { expect, test } from "vitest";
import { createStallHistory } from "./stall-history.ts";

test("the longest counts, and half as much every ten seconds", () => {
  let now = 0;
  const stallHistory = createStallHistory(() => now);
  expect(stallHistory.longestMs()).toBe(0);
  stallHistory.ended(50);
  expect(stallHistory.longestMs()).toBe(0);
  stallHistory.ended(2_000);
  stallHistory.ended(1_000);
  expect(stallHistory.longestMs()).toBe(2_000);
  now = 10_000;
  expect(stallHistory.longestMs()).toBe(1_000);
  stallHistory.ended(1_200);
  expect(stallHistory.longestMs()).toBe(1_200);
});

test("an outage says nothing of the next silence", () => {
  const stallHistory = createStallHistory(() => 0);
  stallHistory.ended(60_000);
  expect(stallHistory.longestMs()).toBe(3_000);
});

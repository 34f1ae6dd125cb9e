import { expect, test } from "vitest";
import { randomFrom } from "./random-from.ts";
import { returnWaitMs, returnWindowMs } from "./return-wait.ts";

/** The most nodes of a fleet that come within one second, when its hub was away for so long. */
function busiestSecond(nodes: number, awayMs: number): number {
  const random = randomFrom(7);
  const withinMs = returnWindowMs(nodes);
  const at = Array.from({ length: nodes }, () => {
    let time = 0;
    for (let tries = 0; time < awayMs || tries === 0; tries++) time += returnWaitMs(tries, { withinMs, random });
    return time;
  }).toSorted((a, b) => a - b);
  let from = 0;
  let most = 0;
  for (const [index, time] of at.entries()) {
    while (time - (at[from] ?? time) >= 1_000) from++;
    most = Math.max(most, index - from + 1);
  }
  return most;
}

test.each([
  [1_000, 0],
  [1_000, 2_500],
  [1_000, 60_000],
  [5_000, 2_500],
])("%i nodes whose hub was away for %i ms come about a hundred a second", (nodes, awayMs) => {
  expect(busiestSecond(nodes, awayMs)).toBeLessThan(nodes <= 1_000 ? 160 : 170);
});

test("a small fleet is back at once, and the largest within a minute of its first try", () => {
  const most = (nodes: number) => returnWaitMs(0, { withinMs: returnWindowMs(nodes), random: () => 1 });
  expect(most(20)).toBe(550);
  expect(most(1_000_000)).toBe(60_050);
});

test("a hub that says nothing of it is met as a small fleet's, and one that stays away every 15 s", () => {
  const wait = (tries: number, withinMs?: number) => returnWaitMs(tries, { withinMs, random: () => 1 });
  expect([0, 1, 2, 20].map((tries) => wait(tries))).toEqual([550, 1_050, 2_050, 15_050]);
  expect(wait(20, 40_000)).toBe(40_050);
});

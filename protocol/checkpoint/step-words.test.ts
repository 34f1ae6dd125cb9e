import { expect, test } from "vitest";
import { shownStep, stepText, stepTitle, stepWords } from "./step-words.ts";

test("a step has its number, a state without one its time", () => {
  expect(stepWords(1_200)).toBe("step 1,200");
  expect(stepWords(1_200, "inside")).toBe("step 1,200");
  expect(stepWords(1_795_835_720, "time")).toBe("the state of 2026-11-28 03:15:20 UTC");
});

test("one rule decides for all words whether a step is a time: its origin, or without one a number of seconds since 2025", () => {
  const time = Date.UTC(2026, 10, 28, 3, 15, 20) / 1_000;
  const all = (step: number, from?: "name" | "time") => [
    stepWords(step, from),
    stepTitle(step, from),
    stepText(BigInt(step), from),
    shownStep(step, from),
  ];
  const words = "the state of 2026-11-28 03:15:20 UTC";
  const shown = [words, `T${words.slice(1)}`, words, "2026-11-28 03:15:20 UTC"];
  expect(all(time)).toEqual(shown);
  expect(all(time, "time")).toEqual(shown);
  const counted = ["step 1,795,835,720", "Step 1,795,835,720", "step 1795835720", "1,795,835,720"];
  expect(time).toBe(1_795_835_720);
  expect(all(time, "name")).toEqual(counted);
  expect(all(60_071)).toEqual(["step 60,071", "Step 60,071", "step 60071", "60,071"]);
  expect(all(2_500_000_000)).toEqual(["step 2,500,000,000", "Step 2,500,000,000", "step 2500000000", "2,500,000,000"]);
  expect(stepWords(60, "time")).toBe("the state of 1970-01-01 00:01:00 UTC");
});

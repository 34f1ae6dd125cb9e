import { expect, test } from "vitest";
import { stepWords } from "./step-words.ts";

test("a step has its number, a state without one its time", () => {
  expect(stepWords(1_200)).toBe("step 1,200");
  expect(stepWords(1_200, "inside")).toBe("step 1,200");
  expect(stepWords(1_795_835_720, "time")).toBe("the state of 2026-11-28 03:15:20 UTC");
});

import { expect, test } from "vitest";
import { tabAfter } from "./tab-after.ts";

test("arrow keys go from tab to tab and round at the ends", () => {
  expect(tabAfter("ArrowRight", 0, 3)).toBe(1);
  expect(tabAfter("ArrowRight", 2, 3)).toBe(0);
  expect(tabAfter("ArrowLeft", 0, 3)).toBe(2);
  expect(tabAfter("ArrowLeft", 2, 3)).toBe(1);
});

test("Home and End go to the ends, other keys nowhere", () => {
  expect([tabAfter("Home", 2, 3), tabAfter("End", 0, 3)]).toEqual([0, 2]);
  expect([tabAfter("Tab", 1, 3), tabAfter("Enter", 1, 3), tabAfter("ArrowRight", 0, 0)]).toEqual([null, null, null]);
});

import { expect, test } from "vitest";
import { lowerMedianOf, medianOf } from "./robust.ts";

test("the lower median is one of the values, where the median may lie between two", () => {
  const even = [9, 1, 4, 2];
  expect(medianOf(even)).toBe(3);
  expect(lowerMedianOf(even)).toBe(2);
  expect(lowerMedianOf([3, 1, 2])).toBe(2);
  expect(lowerMedianOf([])).toBeNull();
});

import { expect, test } from "vitest";
import { firstOf } from "./first-of.ts";

const byNumber = (a: number, b: number): number => a - b;

test.each([
  [[], 3],
  [[2, 1], 3],
  [[5, 3, 9, 1, 7, 3, 8], 3],
  [[1, 2, 3, 4, 5], 2],
  [[5, 4, 3, 2, 1], 4],
])("of %j the first %i stand in front in order, and none is lost", (rows, most) => {
  const found = firstOf(rows, { most, compare: byNumber });
  expect(found.slice(0, most)).toEqual(rows.toSorted(byNumber).slice(0, most));
  expect(found.toSorted(byNumber)).toEqual(rows.toSorted(byNumber));
});

test("most rows are compared once", () => {
  let compared = 0;
  const rows = Array.from({ length: 3_000 }, (_, at) => (at * 7_919) % 3_000);
  firstOf(rows, {
    most: 12,
    compare: (a, b) => {
      compared++;
      return a - b;
    },
  });
  expect(compared).toBeLessThan(rows.length * 1.5);
});

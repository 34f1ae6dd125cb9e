import { expect, test } from "vitest";
import { createSorter } from "./sort-again.ts";

interface Row {
  id: string;
  size: number;
}
const bySize = (a: Row, b: Row): number => a.size - b.size || (a.id < b.id ? -1 : 1);
const rows = (...sizes: number[]): Row[] => sizes.map((size, at) => ({ id: `r${at}`, size }));
const ids = (sorted: readonly Row[]): string => sorted.map(({ id }) => id).join(" ");

test("rows that moved, came or went stand where sorting from anew puts them", () => {
  const sort = createSorter<Row>();
  for (const some of [rows(3, 1, 2), rows(0, 1, 2), rows(5, 5, 2, 9), rows(5, 4), [], rows(2, 1)]) {
    expect(ids(sort(some, bySize))).toBe(ids(some.toSorted(bySize)));
  }
});

test("another order is sorted by that", () => {
  const sort = createSorter<Row>();
  sort(rows(3, 1, 2), bySize);
  expect(ids(sort(rows(3, 1, 2), (a, b) => b.size - a.size))).toBe("r0 r2 r1");
});

test("of many rows in nearly the same order each is compared about once", () => {
  const sort = createSorter<Row>();
  const many = rows(...Array.from({ length: 3_000 }, (_, at) => (at * 7_919) % 3_000));
  sort(many, bySize);
  let compared = 0;
  const moved = many.map((row, at) => (at % 500 === 0 ? { ...row, size: row.size + 1_000 } : row));
  sort(moved, (a, b) => {
    compared++;
    return bySize(a, b);
  });
  expect(compared).toBeLessThan(many.length * 3);
});

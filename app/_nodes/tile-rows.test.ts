import { expect, test } from "vitest";
import { tileRows } from "./tile-rows.ts";

test("as many tiles stand side by side as there is room for, one at least", () => {
  const rows = (roomWidth: number, count: number) => tileRows({ count, roomWidth, leastWidth: 250, gap: 12 });
  expect(rows(1_036, 10)).toEqual({ across: 4, rows: 3 });
  expect(rows(1_035, 10)).toEqual({ across: 3, rows: 4 });
  expect(rows(200, 3)).toEqual({ across: 1, rows: 3 });
  expect(rows(0, 0)).toEqual({ across: 1, rows: 0 });
});

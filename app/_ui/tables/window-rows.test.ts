import { expect, test } from "vitest";
import { rowWindow } from "./window-rows.ts";

test("a short list is drawn whole", () => {
  expect(rowWindow({ count: 40, rowHeight: 53, scrolled: 900, screenHeight: 800 })).toEqual({
    first: 0,
    end: 40,
    before: 0,
    after: 0,
  });
});

test("of ten thousand rows only those near the screen are drawn, and the height stays whole", () => {
  const view = rowWindow({ count: 10_000, rowHeight: 50, scrolled: 100_000, screenHeight: 1000 });
  expect(view.first).toBe(1992);
  expect(view.end).toBe(2028);
  expect(view.before + (view.end - view.first) * 50 + view.after).toBe(500_000);
});

test("the window stays inside the list at both ends", () => {
  expect(rowWindow({ count: 500, rowHeight: 50, scrolled: -300, screenHeight: 1000 }).first).toBe(0);
  const last = rowWindow({ count: 500, rowHeight: 50, scrolled: 999_999, screenHeight: 1000 });
  expect(last.end).toBe(500);
  expect(last.after).toBe(0);
});

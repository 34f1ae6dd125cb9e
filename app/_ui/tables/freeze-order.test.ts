import { expect, test } from "vitest";
import { keepOrder } from "./freeze-order.ts";

test("rows keep their places although the live order changed", () => {
  expect(keepOrder(["a", "b", "c"], ["c", "a", "b"])).toEqual(["a", "b", "c"]);
});

test("a row that is gone leaves and the others close up", () => {
  expect(keepOrder(["a", "b", "c"], ["c", "a"])).toEqual(["a", "c"]);
});

test("new rows come at the end in their wanted order", () => {
  expect(keepOrder(["b", "a"], ["x", "a", "y", "b"])).toEqual(["b", "a", "x", "y"]);
});

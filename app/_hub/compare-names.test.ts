import { expect, test } from "vitest";
import { compareNames } from "./compare-names.ts";

test("numbers in names count as numbers, case does not count", () => {
  const names = ["gpu-10", "GPU-2", "gpu-1", "eu-west-3b", "eu-west-3", "sim-00010", "sim-9"];
  expect(names.toSorted(compareNames)).toEqual([
    "eu-west-3",
    "eu-west-3b",
    "gpu-1",
    "GPU-2",
    "gpu-10",
    "sim-9",
    "sim-00010",
  ]);
});

test("different names never count as the same, so that the order is always one", () => {
  expect(compareNames("a-01", "a-1")).not.toBe(0);
  expect(Math.sign(compareNames("a-01", "a-1"))).toBe(-Math.sign(compareNames("a-1", "a-01")));
  expect(compareNames("a-1", "a-1")).toBe(0);
});

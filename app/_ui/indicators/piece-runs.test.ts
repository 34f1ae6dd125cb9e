import { expect, test } from "vitest";
import { countPieces, pieceRuns } from "./piece-runs.ts";

test("neighbours in the same state become one block", () => {
  expect(pieceRuns("##>..")).toEqual([
    { state: "#", start: 0, length: 2 },
    { state: ">", start: 2, length: 1 },
    { state: ".", start: 3, length: 2 },
  ]);
  expect(pieceRuns("")).toEqual([]);
});

test("counts what is safe, what moves, what is tried again and what waits", () => {
  expect(countPieces("##>..#!")).toEqual({ done: 3, moving: 1, again: 1, waiting: 2 });
});

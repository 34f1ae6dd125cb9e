import { expect, it } from "vitest";
import type { PlacesCompared, TensorFacts } from "#protocol/checkpoint/inspect.ts";
import { changeRows, changeSentence, countChanges } from "./change-rows.ts";

const tensor = (name: string, shape: number[]) => ({ name, dtype: "F32", shape }) as TensorFacts;
const data: PlacesCompared = {
  added: [tensor("new", [2])],
  removed: [tensor("old", [])],
  changed: [{ name: "w", from: { dtype: "F32", shape: [2, 2] }, to: { dtype: "BF16", shape: [2, 3] } }],
  same: 1_200,
  differs: ["b"],
  unknown: 3,
  omitted: 0,
  warnings: [],
  files: {
    added: [],
    removed: [],
    changed: [{ path: "m.bin", fromBytes: 2048, toBytes: 2048, changedParts: 1, parts: 2 }],
    same: 4,
    unknown: 0,
    omitted: 0,
  },
};

it("lists tensors by what became of them, the deepest change first", () => {
  const rows = changeRows(data, "tensors");
  expect(rows.map(({ name, from, to }) => [name, from, to])).toEqual([
    ["w", "F32 2 × 2", "BF16 2 × 3"],
    ["b", "", "CRC32 differs"],
    ["new", "–", "F32 2"],
    ["old", "F32 scalar", "–"],
  ]);
  expect(countChanges(rows)).toEqual({ all: 4, reshaped: 1, bytes: 1, added: 1, removed: 1 });
  expect(changeSentence(data, "tensors")).toBe("1,200 the same, 3 unknown (no checksum)");
});

it("says of files how many of their parts have other bytes", () => {
  expect(changeRows(data, "files").map(({ name, to }) => [name, to])).toEqual([["m.bin", "2.0 KiB, 1 of 2 parts"]]);
  expect(changeSentence(data, "files")).toBe("4 the same");
});

import { describe, expect, it } from "vitest";
import type { FileInspection, TensorFacts } from "#protocol/checkpoint/inspect.ts";
import { parameterWords, pickTensors, readWords, shapeWords } from "./inspect-words.ts";

it.each([
  [0, "0"],
  [812, "812"],
  [1_000, "1.00 k"],
  [134_515_008, "135 M"],
  [1_235_814_400, "1.24 B"],
  [70_553_706_496, "70.6 B"],
])("%d parameters are %s", (count, words) => expect(parameterWords(count)).toBe(words));

it("a tensor without dimensions is a scalar", () => {
  expect(shapeWords([])).toBe("scalar");
  expect(shapeWords([2, 3])).toBe("2 × 3");
});

describe("tensors", () => {
  const tensors = [
    ["layers.10.q.weight", "BF16", 4],
    ["layers.2.q.weight", "F32", 8],
    ["layers.2.k.weight", "BF16", 16],
  ].map(([name, dtype, sizeBytes]) => ({ name, dtype, shape: [2, 2], sizeBytes }) as TensorFacts);
  const names = (words: string, order: "file" | "name" | "size") =>
    pickTensors(tensors, { words, order }).map(({ name }) => name);

  it("are found by every word, in name, dtype or shape", () => {
    expect(names("q bf16", "file")).toEqual(["layers.10.q.weight"]);
    expect(names("2x2", "file")).toHaveLength(3);
    expect(names("none", "file")).toEqual([]);
  });

  it("stand in the file's order, by name with numbers counted, or largest first", () => {
    expect(names("", "file")[0]).toBe("layers.10.q.weight");
    expect(names("", "name")).toEqual(["layers.2.k.weight", "layers.2.q.weight", "layers.10.q.weight"]);
    expect(names("", "size")[0]).toBe("layers.2.k.weight");
  });
});

it("says how little was read, and of a pickle that it is never unpickled", () => {
  const about = { format: "torch-zip", sizeBytes: 10 * 1024 ** 3, readBytes: 65_536, reads: 3 } as FileInspection;
  expect(readWords(about)).toBe(
    "64.0 KiB of 10.0 GiB were read in 3 requests. The hub reads at most 16.0 MiB of an object, for what describes it: tensors are not loaded. Its pickle is never loaded: its opcodes are only interpreted as data.",
  );
  expect(readWords({ ...about, format: "safetensors" })).not.toContain("pickle");
});

import { describe, expect, it } from "vitest";
import type { TensorFacts } from "#protocol/checkpoint/inspect.ts";
import { readArchive } from "../testing/real-files.ts";
import { compareTensors, type ComparedFile } from "./compare.ts";
import { inspectFile } from "./inspect-file.ts";
import { sourceOfBytes } from "./source.ts";

const tensor = (name: string, facts: Partial<TensorFacts> = {}): TensorFacts => ({
  name,
  dtype: "F32",
  shape: [10],
  sizeBytes: 40,
  offset: null,
  role: "weights",
  crc32: null,
  ...facts,
});
const file = (tensors: TensorFacts[], facts: Partial<ComparedFile> = {}): ComparedFile => ({
  path: "a",
  tensors,
  parts: null,
  ...facts,
});
const part = (length: number, crc32: string) => ({ length, crc32 });

describe("two steps", () => {
  it("differ by what was added, removed, and given another shape or dtype", () => {
    const before = file([tensor("stays"), tensor("goes"), tensor("grows"), tensor("shrinks")]);
    const after = file([
      tensor("comes"),
      tensor("stays"),
      tensor("grows", { shape: [20], sizeBytes: 80 }),
      tensor("shrinks", { dtype: "F16", sizeBytes: 20 }),
    ]);
    expect(compareTensors([before], [after])).toMatchObject({
      added: [{ name: "comes" }],
      removed: [{ name: "goes" }],
      changed: [
        { name: "grows", from: { shape: [10] }, to: { shape: [20] } },
        { name: "shrinks", from: { dtype: "F32" }, to: { dtype: "F16" } },
      ],
      same: 0,
      differs: [],
      unknown: 1,
    });
  });

  it("have a tensor that differs where a part that is all its own does", () => {
    const at = { offset: 10, sizeBytes: 40 };
    const parts = [part(10, "head"), part(20, "one"), part(20, "two")];
    const before = file([tensor("w", at)], { parts });
    const after = file([tensor("w", at)], { parts: [part(10, "other"), part(20, "one"), part(20, "new")] });
    expect(compareTensors([before], [after])).toMatchObject({ same: 0, differs: ["w"], unknown: 0 });
    expect(compareTensors([before], [file([tensor("w", at)], { parts })])).toMatchObject({
      same: 1,
      differs: [],
      unknown: 0,
    });
  });

  it("leave open what a part that holds other things too says, and parts that do not line up", () => {
    const at = { offset: 10, sizeBytes: 40 };
    const before = file([tensor("w", at)], { parts: [part(30, "one"), part(30, "two")] });
    const shared = file([tensor("w", at)], { parts: [part(30, "new"), part(30, "two")] });
    const shifted = file([tensor("w", at)], { parts: [part(25, "one"), part(35, "two")] });
    const short = file([tensor("w", at)], { parts: [part(30, "one")] });
    for (const after of [shared, shifted, short]) {
      expect(compareTensors([before], [after])).toMatchObject({ same: 0, differs: [], unknown: 1 });
    }
  });

  it("line up by the tensor's own bytes, wherever it lies in its file", () => {
    const before = file([tensor("w", { offset: 10 })], { parts: [part(10, "x"), part(40, "w")] });
    const after = file([tensor("w", { offset: 50 })], { parts: [part(50, "y"), part(40, "w")] });
    expect(compareTensors([before], [after])).toMatchObject({ same: 1 });
  });

  it("keep apart what ranks wrote under one name", () => {
    const ranks = (crc32: string) => [
      file([tensor("w", { crc32: "same" })], { path: "rank0" }),
      file([tensor("w", { crc32 })], { path: "rank1" }),
    ];
    expect(compareTensors(ranks("old"), ranks("new"))).toMatchObject({ same: 1, differs: ["rank1: w"] });
  });
});

it("what PyTorch itself wrote down of its storages tells which tensors training moved", async () => {
  const files = readArchive("real-checkpoints");
  const read = async (path: string): Promise<ComparedFile> => {
    const inspection = await inspectFile(path, sourceOfBytes(files.get(path) ?? Buffer.alloc(0)));
    return { path, tensors: inspection.tensors, parts: null };
  };
  const [two, four] = [await read("lightning/epoch=0-step=2.ckpt"), await read("lightning/epoch=0-step=4.ckpt")];
  const compared = compareTensors([two], [four]);
  expect(compared).toMatchObject({ added: [], removed: [], changed: [], unknown: 0 });
  expect(compared.differs).toContain("state_dict.model.0.weight");
  expect(compareTensors([two], [two])).toMatchObject({ same: two.tensors.length, differs: [], unknown: 0 });
});

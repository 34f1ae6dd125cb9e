import { expect, test } from "vitest";
import { filePath } from "#protocol/base/names.ts";
import { createTensorChooser, tensorFiles } from "./tensor-files.ts";

const extent = { key: "k", offset: 0, length: 10, crc32: "00000000", etag: "e" };
const checkpoint = (paths: readonly string[], transform = "none") => ({
  run: "llama",
  step: 5,
  transform: { kind: transform },
  files: paths.map((path) => ({
    path: filePath.parse(path),
    sizeBytes: 10,
    mtimeMs: 1,
    sha256: null,
    extents: [extent],
  })),
});
const refusal = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

test("tensors are taken from safetensors files and their indexes, or from those that were named", () => {
  const of = checkpoint(["a.safetensors", "b/c.SafeTensors", "a.safetensors.index.json", "config.json", "x.pt"]);
  const { shards, indexes } = tensorFiles(of, null);
  expect(shards.map(({ path }) => path)).toEqual(["a.safetensors", "b/c.SafeTensors"]);
  expect(indexes.map(({ path }) => path)).toEqual(["a.safetensors.index.json"]);
  expect(tensorFiles(of, ["a.safetensors", "config.json"])).toMatchObject({
    shards: [{ path: "a.safetensors" }],
    indexes: [],
  });
});

test("every other form is refused with why, and what to do instead", () => {
  const cases: [string[], string][] = [
    [["config.json", "pytorch_model.bin"], "is a PyTorch file"],
    [["__0_0.distcp", ".metadata"], "belongs to PyTorch DCP"],
    [["model.gguf"], "is a GGUF file"],
    [["weights.npz"], "is a numpy file"],
    [["config.json"], "none of its files is a safetensors file"],
  ];
  for (const [paths, why] of cases) {
    expect(refusal(() => tensorFiles(checkpoint(paths), null))).toMatchObject({
      code: "BAD_INPUT",
      context: { detail: expect.stringMatching(new RegExp(`${why}.*restore whole files in place of tensors$`)) },
    });
  }
  const lying = (transform: string, bytes: number) => {
    const whole = checkpoint(["a.safetensors"], transform);
    const stored = { length: bytes, crc32: "00000000" };
    return { ...whole, files: whole.files.map((file) => ({ ...file, extents: [{ ...extent, stored }] })) };
  };
  const inAPack = { context: { subject: "a.safetensors", detail: expect.stringContaining("compressed in a pack") } };
  expect(refusal(() => tensorFiles(lying("zstd", 5), null))).toMatchObject(inAPack);
  // Encrypted, a piece is stored with the tag of its segment.
  expect(refusal(() => tensorFiles(lying("sealed", 5 + 16), null))).toMatchObject(inAPack);
  expect(tensorFiles(lying("sealed", 10 + 16), null).shards).toHaveLength(1);
});

test("a pattern that fits nothing is named, also beside one that fits the same tensors", () => {
  const chooser = createTensorChooser(["model.*", "model.a", "model.b"]);
  expect(["model.a", "lm_head"].map((name) => chooser.fits(name))).toEqual([true, false]);
  expect(refusal(() => chooser.requireAll(["model.a", "lm_head"]))).toMatchObject({
    code: "NOT_FOUND",
    context: { subject: "model.b", detail: "no tensor fits it; there are model.a, lm_head" },
  });
  chooser.fits("model.b");
  expect(refusal(() => chooser.requireAll([]))).toBeUndefined();
});

test("patterns that would keep a hub busy are given up", () => {
  const slow = createTensorChooser(Array.from({ length: 64 }, () => `${"*a".repeat(200)}b`));
  const name = "a".repeat(1_024);
  const found = refusal(() => {
    for (let names = 0; names < 1_000; names++) slow.fits(name);
  });
  expect(found).toMatchObject({ code: "TOO_LARGE", context: { subject: "the patterns" } });
});

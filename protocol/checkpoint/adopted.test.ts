import { describe, expect, it } from "vitest";
import { adoptedManifest, isAdopted, storedManifest, withSums, type AdoptedManifest } from "./adopted.ts";

const made = (change: object = {}): unknown => ({
  format: "tidemark.adopted",
  version: 1,
  id: "checkpoint-1",
  run: "old",
  step: 5,
  writerEpoch: 0,
  parent: null,
  attempt: "aaaaaaaaaaaa",
  node: null,
  framework: null,
  metrics: {},
  capturedAt: 1,
  sizeBytes: 3,
  homes: [{ profileId: "profile-1", bucket: "training", prefix: "team/" }],
  transform: { kind: "none" },
  origin: { place: "old/checkpoint-5/", kind: "folder", verdict: "unknown", reason: "", adoptedAt: 1 },
  files: [
    {
      path: "model.bin",
      sizeBytes: 3,
      mtimeMs: 1,
      sha256: null,
      extents: [
        { key: "old/checkpoint-5/model.bin", offset: 0, length: 2, crc32: null, etag: '"e"' },
        { key: "old/checkpoint-5/model.bin", offset: 2, length: 1, crc32: null, etag: '"e"' },
      ],
    },
  ],
  ...change,
});
const [file] = (made() as AdoptedManifest).files;

describe("the manifest of what another tool left", () => {
  it("is read beside Tidemark's own, and told from it by its format", () => {
    const read = storedManifest.parse(made());
    expect(isAdopted(read)).toBe(true);
  });

  it.each([
    ["a path that leaves its folder", { files: [{ ...file, path: "../model.bin" }] }],
    ["files that do not add up", { sizeBytes: 4 }],
    ["a hole in a file", { files: [{ ...file, extents: file?.extents.slice(1) }] }],
    ["two names of one file", { sizeBytes: 6, files: [file, file] }],
    ["an epoch of a writer", { writerEpoch: 1 }],
    ["a node that is said to have written it", { node: { id: "node-id-1", name: "gpu-1" } }],
    ["the format of another version", { version: 2 }],
  ])("with %s is refused", (_, change) => {
    expect(storedManifest.safeParse(made(change)).success).toBe(false);
  });
});

it("checksums are put where they fit, and passed over where they do not", () => {
  const read = adoptedManifest.parse(made());
  const sumsOf = (sums: Parameters<typeof withSums>[1]) =>
    withSums(read, sums).files.flatMap(({ extents }) => extents.map(({ crc32 }) => crc32));
  expect(sumsOf([["aaaaaaaa", "bbbbbbbb"]])).toEqual(["aaaaaaaa", "bbbbbbbb"]);
  expect(sumsOf([["aaaaaaaa"]])).toEqual([null, null]);
  expect(sumsOf([null])).toEqual([null, null]);
  expect(sumsOf([])).toEqual([null, null]);
});

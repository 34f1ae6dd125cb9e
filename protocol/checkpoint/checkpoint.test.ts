import { expect, test } from "vitest";
import { byNewest, CHECKPOINT_MOVES, CHECKPOINT_STATES, manifest, mayBecome } from "./checkpoint.ts";

const piece = (length: number) => ({
  key: "runs/r/e000001/abcdef123456/m",
  offset: 0,
  length,
  crc32: "00000000",
  etag: '"e"',
});
const valid = {
  format: "tidemark.checkpoint",
  version: 1,
  id: "11111111-2222",
  run: "llama",
  step: 500,
  writerEpoch: 1,
  parent: null,
  attempt: "abcdef123456",
  node: { id: "33333333-4444", name: "gpu-7" },
  framework: null,
  metrics: { loss: 1.5 },
  capturedAt: 1,
  sizeBytes: 10,
  homes: [{ profileId: "55555555-6666", bucket: "b-1", prefix: "" }],
  transform: { kind: "none" },
  files: [
    { path: "m", sizeBytes: 10, mtimeMs: 1, sha256: null, extents: [piece(6), { ...piece(4), offset: 6 }] },
    { path: "empty", sizeBytes: 0, mtimeMs: 1, sha256: null, extents: [] },
  ],
};

test("a whole manifest is accepted", () => expect(manifest.safeParse(valid).success).toBe(true));

test.each([
  ["extents that do not cover the file", { files: [{ ...valid.files[0], extents: [piece(6)] }] }],
  ["a size that is not the sum of the files", { sizeBytes: 11 }],
  ["two names for one file", { files: [valid.files[0], { ...valid.files[1], path: valid.files[0]?.path }] }],
  ["a path that climbs", { files: [{ ...valid.files[0], path: "../m" }] }],
  ["an unknown version", { version: 2 }],
  ["no files", { files: [] }],
])("a manifest with %s is refused", (_why, change) => {
  expect(manifest.safeParse({ ...valid, ...change }).success).toBe(false);
});

const frame = { length: 4, crc32: "00000000" };
const framed = (extents: object[], kind = "zstd") => ({
  ...valid,
  transform: { kind },
  files: [{ ...valid.files[0], extents }, valid.files[1]],
});

test("a file may lie in its object as one smaller frame, where the manifest speaks of frames", () => {
  expect(manifest.safeParse(framed([{ ...piece(10), stored: frame }])).success).toBe(true);
  const complaint = (value: object) => manifest.safeParse(value).error?.issues[0]?.message;
  expect(complaint(framed([{ ...piece(10), stored: frame }], "none"))).toContain("the manifest does not speak of it");
  expect(complaint(framed([{ ...piece(6), stored: frame }, piece(4)]))).toContain("it lies in several pieces");
  expect(complaint(framed([{ ...piece(10), stored: { ...frame, length: 10 } }]))).toContain("it would not be smaller");
  const sizeBytes = 4 * 1024 * 1024 + 1;
  const large = { ...valid.files[0], sizeBytes, extents: [{ ...piece(sizeBytes), stored: frame }] };
  expect(complaint({ ...valid, transform: { kind: "zstd" }, sizeBytes, files: [large] })).toContain("more than");
});

test("newest is the highest epoch, then the highest step", () => {
  const list = [
    { writerEpoch: 1, step: 1000 },
    { writerEpoch: 2, step: 500 },
    { writerEpoch: 2, step: 600 },
  ];
  expect(list.toSorted(byNewest)[0]).toEqual({ writerEpoch: 2, step: 600 });
});

test("a complete checkpoint can only be trashed or be joined with others, and every state is in the table", () => {
  expect(CHECKPOINT_STATES.filter((to) => mayBecome("complete", to))).toEqual(["trashed", "joined"]);
  expect(Object.keys(CHECKPOINT_MOVES).toSorted()).toEqual([...CHECKPOINT_STATES].toSorted());
});

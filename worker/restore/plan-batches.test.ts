import { expect, test } from "vitest";
import { PACK_READ_BYTES } from "#protocol/checkpoint/packing.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { planBatches } from "./plan-batches.ts";

const KIB = 1024;
const bytes = Buffer.alloc(4 * KIB, 7);
const extent = (offset: number, change: object = {}) => ({
  key: "pack",
  offset,
  length: bytes.length,
  crc32: crc32Hex(bytes),
  etag: '"e"',
  ...change,
});
const inPack = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ extents: [extent(index * bytes.length)] }));

test("fifty thousand files in packs are a hundred ranges", () => {
  const { batches, alone } = planBatches(inPack(50_000));
  expect(alone).toEqual([]);
  expect(batches).toHaveLength(Math.ceil((50_000 * bytes.length) / PACK_READ_BYTES));
  expect(batches.every(({ length }) => length <= PACK_READ_BYTES)).toBe(true);
  expect(batches.flatMap(({ members }) => members.map(({ index }) => index))).toEqual([...Array(50_000).keys()]);
});

test("a file that lies in an object by itself, or in several pieces, is fetched by itself", () => {
  const own = { extents: [extent(0, { key: "config.json" })] };
  const large = { extents: [extent(0, { key: "model" }), extent(bytes.length, { key: "model" })] };
  const { batches, alone } = planBatches([own, ...inPack(2), large, { extents: [] }]);
  expect(alone).toEqual([0, 3, 4]);
  expect(batches.map(({ members }) => members.map(({ index }) => index))).toEqual([[1, 2]]);
});

test("of some files of a pack the near ones are read together with what lies between, and one is one range", () => {
  const files = inPack(1_000);
  const every = (step: number) => new Set(files.keys().filter((index) => index % step !== 0));
  const near = planBatches(files, every(10));
  expect(near.batches).toHaveLength(2);
  expect(near.batches[0]?.length).toBeGreaterThan((near.batches[0]?.members.length ?? 0) * bytes.length);
  expect(planBatches(files, every(100)).alone).toHaveLength(10);
  const only = planBatches(files, every(1_000));
  expect([only.batches, only.alone]).toEqual([[], [0]]);
});

test("of frames the bytes that lie there count, and one by itself is unpacked all the same", () => {
  const stored = { length: 100, crc32: "0000000a" };
  const { batches, alone } = planBatches([{ extents: [extent(50, { stored })] }]);
  expect(alone).toEqual([]);
  expect(batches).toMatchObject([{ offset: 50, length: 100 }]);
});

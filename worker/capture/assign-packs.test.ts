import { expect, test } from "vitest";
import { DEFAULT_PACKING, MOST_PACK_BYTES, PACK_FROM_FILES } from "#protocol/checkpoint/packing.ts";
import { assignPacks, choosePacked } from "./assign-packs.ts";

const KIB = 1024;
const files = (count: number, sizeBytes: number, folder = "shards") =>
  Array.from({ length: count }, (_, index) => ({ path: `${folder}/${index}`, sizeBytes }));

test("files below the threshold are packed, and only where there are many of them", () => {
  const large = { path: "model", sizeBytes: DEFAULT_PACKING.belowBytes };
  const empty = { path: "empty", sizeBytes: 0 };
  const chosen = choosePacked([large, empty, ...files(PACK_FROM_FILES, 4 * KIB)], DEFAULT_PACKING);
  expect(chosen.size).toBe(PACK_FROM_FILES);
  expect([chosen.has("model"), chosen.has("empty"), chosen.has("shards/0")]).toEqual([false, false, true]);
  expect(choosePacked(files(PACK_FROM_FILES - 1, 4 * KIB), DEFAULT_PACKING).size).toBe(0);
  expect(choosePacked(files(1_000, 4 * KIB), { ...DEFAULT_PACKING, belowBytes: 0 }).size).toBe(0);
});

test("a checkpoint that has files where packs would lie is sent file by file", () => {
  const own = { path: "_tidemark.packs/00001.pack", sizeBytes: 5 };
  expect(choosePacked([own, ...files(1_000, 4 * KIB)], DEFAULT_PACKING).size).toBe(0);
});

test("packs are filled in order, none is larger than one request may be, and there are enough of them to fill a link", () => {
  const lengths = Array.from({ length: 3_000 }, (_, index) => 1 + ((index * 7_919) % (200 * KIB)));
  const numbers = assignPacks(lengths);
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  const sizes = new Map<number, number>();
  for (const [index, number] of numbers.entries()) {
    sizes.set(number, (sizes.get(number) ?? 0) + (lengths[index] ?? 0));
  }
  expect(Math.max(...sizes.values())).toBeLessThanOrEqual(MOST_PACK_BYTES);
  expect([...sizes.keys()]).toEqual(Array.from({ length: sizes.size }, (_, index) => index + 1));
  expect(sizes.size).toBeGreaterThanOrEqual(16);
  expect(assignPacks(lengths)).toEqual(numbers);
});

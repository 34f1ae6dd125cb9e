import { randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import { nativeSum, sumBytes } from "./sum-bytes.ts";

const bytes = randomBytes(1_200_000);

test.each([0, 1, 65_535, 65_536, 65_537, 1_200_000])("of %i bytes it is that of zlib, from any sum on", (length) => {
  for (const previous of [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff]) {
    const some = bytes.subarray(0, length);
    expect(sumBytes(some, previous)).toBe(crc32(some, previous));
  }
});

test("bytes that begin anywhere, and of any length, are summed right", () => {
  const sum = nativeSum();
  if (sum === null) throw new Error("the project has it");
  for (let at = 0; at < 300; at++) {
    const some = bytes.subarray(at, 2 * at + (at % 7));
    expect(sum(some, at)).toBe(crc32(some, at));
  }
});

test("in pieces it is the same as at once", () => {
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 100_000) sum = sumBytes(bytes.subarray(at, at + 100_000), sum);
  expect(sum).toBe(crc32(bytes));
});

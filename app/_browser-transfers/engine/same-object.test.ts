import { expect, it } from "vitest";
import { crc32Hex, compositeCrc32 } from "#storage/checksums/crc32.ts";
import { isSameObject } from "./same-object.ts";
import { sumBlob } from "./sum-blob.ts";

const MIB = 1024 * 1024;
const bytes = Buffer.alloc(12 * MIB, "tide and time");
const file = new Blob([bytes]);
const sum = (blob: Blob) => sumBlob(blob, new AbortController().signal);
const object = (sizeBytes: number, kept: { crc32: string; partCount: number | null } | null) => ({
  found: { key: "a", sizeBytes, etag: '"x"', modifiedAt: null, sum: kept },
  partBytes: 5 * MIB,
});

it("is the same by the checksum of the whole, or by that of its parts, however it was cut", async () => {
  expect(await isSameObject(file, object(bytes.length, { crc32: crc32Hex(bytes), partCount: null }), sum)).toBe(true);
  for (const part of [2 * MIB, 5 * MIB, 12 * MIB]) {
    const sums = [];
    for (let at = 0; at < bytes.length; at += part) sums.push(crc32Hex(bytes.subarray(at, at + part)));
    const kept = { crc32: compositeCrc32(sums), partCount: sums.length };
    expect(await isSameObject(file, object(bytes.length, kept), sum), String(part)).toBe(true);
  }
});

it("is not the same with another size, another checksum, or none", async () => {
  const whole = { crc32: crc32Hex(bytes), partCount: null };
  expect(await isSameObject(file, object(bytes.length + 1, whole), sum)).toBe(false);
  expect(await isSameObject(file, object(bytes.length, { ...whole, crc32: "00000000" }), sum)).toBe(false);
  expect(await isSameObject(file, object(bytes.length, null), sum)).toBe(false);
});

import { zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import type { Extent } from "#protocol/checkpoint/checkpoint.ts";
import { crc32Hex } from "../checksums/crc32.ts";
import { unframe } from "./unframe.ts";

const text = Buffer.from("the same words again ".repeat(500));
const frame = zstdCompressSync(text);
const extent = (change: Partial<Extent> = {}): Extent => ({
  key: "pack",
  offset: 0,
  length: text.length,
  crc32: crc32Hex(text),
  etag: '"e"',
  stored: { length: frame.length, crc32: crc32Hex(frame) },
  ...change,
});

test("a frame gives the bytes of the file; bytes without a frame are the file", async () => {
  expect(Buffer.from(await unframe(frame, extent())).equals(text)).toBe(true);
  const plain: Extent = { key: "pack", offset: 0, length: text.length, crc32: crc32Hex(text), etag: '"e"' };
  expect(await unframe(text, plain)).toBe(text);
});

test.each([
  ["more than the manifest says", { length: 100 }],
  ["other bytes than the manifest says", { crc32: "00000000" }],
])("a frame that holds %s is refused", async (_what, change) => {
  await expect(unframe(frame, extent(change))).rejects.toMatchObject({ code: "CHECKSUM_MISMATCH" });
});

test("what is no frame, or another one than was stored, is refused", async () => {
  const noise = Buffer.alloc(frame.length, 9);
  await expect(unframe(noise, extent())).rejects.toMatchObject({ code: "CHECKSUM_MISMATCH" });
  const stored = { length: noise.length, crc32: crc32Hex(noise) };
  await expect(unframe(noise, extent({ stored }))).rejects.toMatchObject({ code: "CHECKSUM_MISMATCH" });
});

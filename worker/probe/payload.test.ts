import { createHash } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import { expect, test } from "vitest";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { createPayload } from "./payload.ts";

const MIB = 1024 * 1024;
const payload = createPayload(9 * MIB);

function whole(part: number, pieceBytes: number): Buffer {
  const bytes = Buffer.alloc(payload.partBytes);
  for (let at = 0; at < bytes.length; at += pieceBytes) payload.fill(part, bytes.subarray(at, at + pieceBytes), at);
  return bytes;
}

test("a part has the same bytes however it is read, and the sums that are told of it", () => {
  const bytes = whole(7, 100_003);
  expect(bytes.equals(whole(7, 5 * MIB))).toBe(true);
  expect(payload.sums(7, "crc32")).toEqual({ crc32: crc32Hex(bytes) });
  const md5 = createHash("md5").update(bytes).digest("hex");
  expect(payload.sums(7, "md5")).toEqual({ crc32: crc32Hex(bytes), md5 });
});

test("nothing can make it smaller, and no part is like the next", () => {
  const bytes = whole(1, MIB).subarray(0, 2 * MIB);
  expect(deflateRawSync(bytes).length).toBeGreaterThan(bytes.length * 0.99);
  expect(payload.sums(1, "crc32")).not.toEqual(payload.sums(2, "crc32"));
});

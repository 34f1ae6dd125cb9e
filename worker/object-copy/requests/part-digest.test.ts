import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import { createPartsDigest, createWholeDigest, guessPartBytes } from "./part-digest.ts";

const MIB = 1024 * 1024;
const content = randomBytes(1000);

test("a whole sum is what the headers carry, however the bytes come", () => {
  const [md5, sum] = [createWholeDigest("md5"), createWholeDigest("crc32")];
  for (const piece of [content.subarray(0, 1), content.subarray(1, 700), content.subarray(700)]) {
    md5.add(piece);
    sum.add(piece);
  }
  expect(md5.end()).toBe(createHash("md5").update(content).digest("hex"));
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(content));
  expect(sum.end()).toBe(bytes.toString("base64"));
});

test("a sum of sums ends with the number of parts and does not depend on how the bytes come", () => {
  const md5 = (bytes: Uint8Array) => createHash("md5").update(bytes).digest();
  const parts = [content.subarray(0, 400), content.subarray(400, 800), content.subarray(800)];
  const expected = `${md5(Buffer.concat(parts.map(md5))).toString("hex")}-3`;
  for (const step of [1, 399, 400, 401, 1000]) {
    const digest = createPartsDigest("md5", 400);
    for (let at = 0; at < content.length; at += step) digest.add(content.subarray(at, at + step));
    expect(digest.end()).toBe(expected);
  }
  const exact = createPartsDigest("md5", 500);
  exact.add(content);
  expect(exact.end()).toMatch(/-2$/);
});

test("guesses are lengths that give this many parts, the planned one first", () => {
  const guesses = guessPartBytes({ sizeBytes: 100 * MIB, partCount: 7, planned: 16 * MIB });
  expect(guesses[0]).toBe(16 * MIB);
  for (const partBytes of guesses) expect(Math.ceil((100 * MIB) / partBytes)).toBe(7);
  expect(guessPartBytes({ sizeBytes: 100 * MIB, partCount: 9999, planned: 16 * MIB })).toEqual([]);
});

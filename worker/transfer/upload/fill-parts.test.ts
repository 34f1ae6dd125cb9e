import { randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import { fillParts } from "./fill-parts.ts";

const PART = 100;

/** As a pipe does it: all chunks in one memory. */
async function* piped(content: Buffer, chunkBytes: number): AsyncGenerator<Buffer> {
  const memory = Buffer.alloc(chunkBytes);
  for (let at = 0; at < content.length; at += chunkBytes) yield memory.subarray(0, content.copy(memory, 0, at));
  memory.fill(0);
}

async function partsOf(content: Buffer, chunkBytes: number) {
  const found = [];
  const lend = async () => Buffer.alloc(PART + 7);
  for await (const one of fillParts(piped(content, chunkBytes), { partBytes: PART, lend })) found.push(one);
  return found;
}

test.each([
  [1, 1, 1],
  [100, 30, 1],
  [101, 30, 2],
  [200, 100, 2],
  [350, 1_000, 4],
  [1_000, 7, 10],
])("%i bytes in chunks of %i become %i parts with their sums, all but the last equal", async (length, chunk, count) => {
  const content = randomBytes(length);
  const parts = await partsOf(content, chunk);
  expect(parts).toHaveLength(count);
  expect(Buffer.concat(parts.map(({ bytes }) => bytes))).toEqual(content);
  expect(parts.map(({ isLast }) => isLast)).toEqual([...Array.from({ length: count - 1 }, () => false), true]);
  for (const [index, { part, bytes, crc32: sum }] of parts.entries()) {
    expect(part).toEqual({ partNumber: index + 1, offset: index * PART, length: bytes.length });
    expect(Number.parseInt(sum, 16)).toBe(crc32(bytes));
    if (index < count - 1) expect(bytes).toHaveLength(PART);
  }
});

test("nothing becomes no part, and lends no memory", async () => {
  const lend = () => Promise.reject(new Error("nothing is needed"));
  for await (const part of fillParts(piped(Buffer.alloc(0), 10), { partBytes: PART, lend })) expect(part).toBeNull();
});

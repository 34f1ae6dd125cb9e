import { createHash, randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import {
  isSealedLength,
  plainBytesOf,
  SEGMENT_BYTES,
  SEGMENT_PLAIN_BYTES,
  sealedBytes,
} from "#protocol/checkpoint/sealing.ts";
import { fileKeyOf, newCheckpointKey } from "./checkpoint-key.ts";
import { openSegments, sealWhole } from "./segments.ts";

const key = fileKeyOf(newCheckpointKey(), "model.safetensors");
const broken = expect.objectContaining({ code: "SEAL_BROKEN" });
const open = (sealed: Uint8Array, plainBytes: number, by = key) => openSegments(by, { plainBytes, first: 0 }, sealed);

const SIZES = [
  1,
  17,
  SEGMENT_PLAIN_BYTES - 1,
  SEGMENT_PLAIN_BYTES,
  SEGMENT_PLAIN_BYTES + 1,
  2 * SEGMENT_PLAIN_BYTES,
  3 * SEGMENT_PLAIN_BYTES + 5,
];

it.each(SIZES)("gives %i bytes back as they were, in the length that was foretold", (size) => {
  const plain = randomBytes(size);
  const sealed = sealWhole(key, plain);
  expect(sealed.length).toBe(sealedBytes(size));
  expect(plainBytesOf(sealed.length)).toBe(size);
  expect(isSealedLength(sealed.length)).toBe(true);
  expect(open(sealed, size).equals(plain)).toBe(true);
});

it("gives the same bytes each time, other ones for another file, and any segment by itself", () => {
  const plain = randomBytes(3 * SEGMENT_PLAIN_BYTES + 99);
  const sealed = sealWhole(key, plain);
  expect(sealWhole(key, plain).equals(sealed)).toBe(true);
  const other = sealWhole(fileKeyOf(newCheckpointKey(), "model.safetensors"), plain);
  expect(other.subarray(0, 32)).not.toEqual(sealed.subarray(0, 32));
  for (const first of [0, 1, 2, 3]) {
    const range = sealed.subarray(first * SEGMENT_BYTES, (first + 1) * SEGMENT_BYTES);
    const from = first * SEGMENT_PLAIN_BYTES;
    const opened = openSegments(key, { plainBytes: plain.length, first }, range);
    expect(opened.equals(plain.subarray(from, from + SEGMENT_PLAIN_BYTES))).toBe(true);
  }
});

it("still writes what the first release wrote", () => {
  const fixed = Buffer.alloc(32, 7);
  const plain = Buffer.alloc(SEGMENT_PLAIN_BYTES + 3, 1);
  const digest = createHash("sha256")
    .update(sealWhole(fileKeyOf(fixed, "a/b.bin"), plain))
    .digest("hex");
  expect(digest).toBe("5b3f21f0a50fca09b15f2d90d1d84a692c5827425980ebe8332407a23bfe1b09");
});

it("refuses a flipped bit anywhere", () => {
  const plain = randomBytes(300);
  const sealed = sealWhole(key, plain);
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const changed = Buffer.from(sealed);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(() => open(changed, plain.length)).toThrow(broken);
  }
});

it("refuses segments that were exchanged, left out, doubled, cut off, added or taken from another file", () => {
  const plain = randomBytes(3 * SEGMENT_PLAIN_BYTES + 50);
  const sealed = sealWhole(key, plain);
  const at = (index: number) => sealed.subarray(index * SEGMENT_BYTES, (index + 1) * SEGMENT_BYTES);
  const [a, b, c, d] = [at(0), at(1), at(2), at(3)];
  const elsewhere = sealWhole(fileKeyOf(newCheckpointKey(), "model.safetensors"), plain);
  const wrong: [Buffer[], number][] = [
    [[b, a, c, d], plain.length],
    [[a, c, d], plain.length],
    [[a, c, d], 2 * SEGMENT_PLAIN_BYTES + 50],
    [[a, a, c, d], plain.length],
    // Cut at a segment: what is then the last one was not sealed as the last.
    [[a, b, c], 3 * SEGMENT_PLAIN_BYTES],
    [[a, b, c, d.subarray(0, 30)], plain.length],
    [[a, b, c, d, d], plain.length],
    [[a, elsewhere.subarray(SEGMENT_BYTES, 2 * SEGMENT_BYTES), c, d], plain.length],
    [[a, b, c, d.subarray(0, 10)], plain.length],
  ];
  for (const [segments, plainBytes] of wrong) expect(() => open(Buffer.concat(segments), plainBytes)).toThrow(broken);
  expect(open(Buffer.concat([a, b, c, d]), plain.length).equals(plain)).toBe(true);
});

it("refuses 3,000 texts that nobody sealed", () => {
  for (let round = 0; round < 3_000; round++) {
    expect(() => open(randomBytes(1 + (round % 200)), 1 + (round % 180))).toThrow(broken);
  }
});

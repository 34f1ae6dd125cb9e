import { createCipheriv, createDecipheriv } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";
import { SEAL_TAG_BYTES, SEGMENT_BYTES, SEGMENT_PLAIN_BYTES } from "#protocol/checkpoint/sealing.ts";

/**
 * The segments of a file, each AES-256-GCM under the key of the file. The nonce is the number of the segment and whether it is
 * the last one, as in the STREAM construction (Hoang, Reyhanitabar, Rogaway, Vizár 2015) that Tink's streaming AEAD uses too:
 * segments that were changed, exchanged, left out or cut off do not open. The key belongs to one file of one checkpoint and
 * every number is used once in it; the same bytes sealed again are the same bytes, which is what lets an upload go on.
 */

const NONCE_BYTES = 12;

function nonceOf(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeUInt32BE(index, NONCE_BYTES - 5);
  nonce[NONCE_BYTES - 1] = isLast ? 1 : 0;
  return nonce;
}

export interface SegmentAt {
  /** From 0. */
  index: number;
  isLast: boolean;
}

/** Which segment of a file of `plainBytes` begins at plain offset `index * SEGMENT_PLAIN_BYTES`, and whether it is its last. */
export const segmentAt = (plainBytes: number, index: number): SegmentAt => ({
  index,
  isLast: (index + 1) * SEGMENT_PLAIN_BYTES >= plainBytes,
});

/**
 * Gives the memory of what a cipher returned back at once: it always returns new memory outside of the heap, and waiting
 * for the collector to find it costs more than encrypting does. Nothing else may refer to it any more.
 */
export function letGo({ buffer, length }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0);
}

/** Writes the sealed form of `plain` to the start of `into` and returns its length. */
export function sealSegment(key: Uint8Array, at: SegmentAt, bytes: { plain: Uint8Array; into: Buffer }): number {
  const cipher = createCipheriv("aes-256-gcm", key, nonceOf(at.index, at.isLast), { authTagLength: SEAL_TAG_BYTES });
  const text = cipher.update(bytes.plain);
  cipher.final();
  const { length } = text;
  text.copy(bytes.into);
  letGo(text);
  cipher.getAuthTag().copy(bytes.into, length);
  return length + SEAL_TAG_BYTES;
}

/** The bytes of the file in one segment. Faults: SEAL_BROKEN. */
export function openSegment(key: Uint8Array, at: SegmentAt, sealed: Uint8Array): Buffer {
  try {
    const end = sealed.length - SEAL_TAG_BYTES;
    if (end <= 0) throw new Error("it is too short");
    const decipher = createDecipheriv("aes-256-gcm", key, nonceOf(at.index, at.isLast), {
      authTagLength: SEAL_TAG_BYTES,
    });
    decipher.setAuthTag(sealed.subarray(end));
    const plain = decipher.update(sealed.subarray(0, end));
    decipher.final();
    return plain;
  } catch (cause) {
    throw new Fault("SEAL_BROKEN", { op: "open", detail: `segment ${at.index}`, cause });
  }
}

/** All of a file, or of a frame of it. */
export function sealWhole(key: Uint8Array, plain: Uint8Array): Buffer {
  const count = Math.ceil(plain.length / SEGMENT_PLAIN_BYTES);
  const sealed = Buffer.allocUnsafe(plain.length + count * SEAL_TAG_BYTES);
  for (let index = 0; index < count; index++) {
    const from = index * SEGMENT_PLAIN_BYTES;
    sealSegment(key, segmentAt(plain.length, index), {
      plain: plain.subarray(from, from + SEGMENT_PLAIN_BYTES),
      into: sealed.subarray(index * SEGMENT_BYTES),
    });
  }
  return sealed;
}

/** Segments `first` and following of a file of `plainBytes`, which lie one behind another in `sealed`. Faults: SEAL_BROKEN. */
export function openSegments(key: Uint8Array, at: { plainBytes: number; first: number }, sealed: Uint8Array): Buffer {
  const opened: Buffer[] = [];
  for (let from = 0; from < sealed.length; from += SEGMENT_BYTES) {
    const index = at.first + from / SEGMENT_BYTES;
    opened.push(openSegment(key, segmentAt(at.plainBytes, index), sealed.subarray(from, from + SEGMENT_BYTES)));
  }
  return Buffer.concat(opened);
}

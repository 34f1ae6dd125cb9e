import { createCipheriv, createDecipheriv } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";
import { SEAL_TAG_BYTES, SEGMENT_BYTES, SEGMENT_PLAIN_BYTES } from "#protocol/checkpoint/sealing.ts";

/**
 * Encrypts a file in segments, each with AES-256-GCM under the file's key. The nonce is the segment number and a
 * last-segment flag, as in the STREAM construction (Hoang, Reyhanitabar, Rogaway, Vizár 2015) and Tink's streaming AEAD.
 * Changed, reordered, missing or truncated segments therefore do not open. A key belongs to one file of one checkpoint,
 * so every nonce is used for one content. Sealing is deterministic, which lets an interrupted upload resume.
 */

const NONCE_BYTES = 12;

function nonceOf(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeUInt32BE(index, NONCE_BYTES - 5);
  nonce[NONCE_BYTES - 1] = isLast ? 1 : 0;
  return nonce;
}

export interface SegmentAt {
  /** Segment number, from 0. */
  index: number;
  isLast: boolean;
}

/** Returns the position of segment `index` in a file of `plainBytes`: its number, and whether it is the last one. */
export const segmentAt = (plainBytes: number, index: number): SegmentAt => ({
  index,
  isLast: (index + 1) * SEGMENT_PLAIN_BYTES >= plainBytes,
});

/**
 * Frees the memory of a cipher's output immediately. A cipher always allocates off-heap memory, and waiting for garbage
 * collection costs more than the encryption itself. Nothing else may refer to the buffer.
 */
export function letGo({ buffer, length }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0);
}

/** Writes the sealed form of `plain` to the start of `into` and returns its length in bytes. */
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

/** Returns the plain bytes of one segment. @throws Fault SEAL_BROKEN */
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

/** Seals all segments of a file or of a compressed frame. */
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

/** Opens the consecutive segments in `sealed`, from number `first` of a file of `plainBytes`. @throws Fault SEAL_BROKEN */
export function openSegments(key: Uint8Array, at: { plainBytes: number; first: number }, sealed: Uint8Array): Buffer {
  const opened: Buffer[] = [];
  for (let from = 0; from < sealed.length; from += SEGMENT_BYTES) {
    const index = at.first + from / SEGMENT_BYTES;
    opened.push(openSegment(key, segmentAt(at.plainBytes, index), sealed.subarray(from, from + SEGMENT_BYTES)));
  }
  return Buffer.concat(opened);
}

import { SEAL_TAG_BYTES, SEGMENT_BYTES, SEGMENT_PLAIN_BYTES, sealedBytes } from "#protocol/checkpoint/sealing.ts";
import { letGo, openSegment, segmentAt } from "#storage/encryption/segments.ts";
import { placed } from "#storage/encryption/unseal.ts";
import type { Piece } from "./piece.ts";

/**
 * Ranges of encrypted objects. A download counts plaintext bytes, in steps of whole segments; only this file converts them to
 * bytes of the object. A segment is assembled in memory, decrypted, and counts once that succeeded. If the connection ends
 * within a segment, the whole segment is fetched again.
 */

/** Returns the encryption fields for the pieces of a file; none without a key. */
export const sealedAs = (
  { sizeBytes }: { sizeBytes: number },
  fileKey: Buffer | undefined,
): Pick<Piece, "sealed" | "stepBytes"> =>
  fileKey === undefined ? {} : { sealed: { fileKey, plainBytes: sizeBytes }, stepBytes: SEGMENT_PLAIN_BYTES };

/** Returns the stored length of `length` plaintext bytes that begin at a segment. */
export const storedLength = ({ sealed }: Pick<Piece, "sealed">, length: number): number =>
  sealed === undefined ? length : sealedBytes(length);

/** Returns where the plaintext byte at `offset` of a piece is stored, from the piece's start. A segment begins there. */
export const storedOffset = ({ sealed }: Pick<Piece, "sealed">, offset: number): number =>
  sealed === undefined ? offset : (offset / SEGMENT_PLAIN_BYTES) * SEGMENT_BYTES;

const spare: Buffer[] = [];
const MOST_SPARE = 16;

/**
 * Returns a function that takes the chunks of one range and passes the plaintext of each segment on. That function throws
 * SEAL_BROKEN.
 */
export function openSegments(
  piece: Piece,
  span: { from: number; to: number; received: number },
  take: (plain: Buffer) => void,
): (chunk: Buffer) => void {
  let segment: Buffer | null = null;
  let filled = 0;
  const open = (sealed: Buffer) => {
    const { fileKey, plainBytes } = piece.sealed ?? { fileKey: Buffer.alloc(0), plainBytes: 0 };
    const index = (piece.fileOffset + span.from + span.received) / SEGMENT_PLAIN_BYTES;
    const at = { key: piece.key, offset: piece.objectOffset + storedOffset(piece, span.from + span.received) };
    const plain = placed(at, () => openSegment(fileKey, segmentAt(plainBytes, index), sealed));
    take(plain);
    letGo(plain);
  };
  return (chunk) => {
    for (let at = 0; at < chunk.length;) {
      const left = span.to - span.from - span.received;
      // Another connection took over the rest.
      if (left <= 0) break;
      const whole = Math.min(SEGMENT_BYTES, left + SEAL_TAG_BYTES);
      const length = Math.min(whole - filled, chunk.length - at);
      if (filled === 0 && length === whole) {
        open(chunk.subarray(at, at + whole));
      } else {
        segment ??= spare.pop() ?? Buffer.allocUnsafeSlow(SEGMENT_BYTES);
        chunk.copy(segment, filled, at, at + length);
        filled += length;
        if (filled === whole) {
          filled = 0;
          open(segment.subarray(0, whole));
          if (spare.length < MOST_SPARE) spare.push(segment);
          segment = null;
        }
      }
      at += length;
    }
  };
}

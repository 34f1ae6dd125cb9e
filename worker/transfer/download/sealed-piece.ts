import { SEAL_TAG_BYTES, SEGMENT_BYTES, SEGMENT_PLAIN_BYTES, sealedBytes } from "#protocol/checkpoint/sealing.ts";
import { letGo, openSegment, segmentAt } from "#storage/encryption/segments.ts";
import { placed } from "#storage/encryption/unseal.ts";
import type { Piece } from "./piece.ts";

/**
 * Ranges of encrypted objects. All bookkeeping of a download is in the file's own bytes, in steps of whole segments; only here are
 * they turned into the bytes of the object. A segment is put together in memory, opened, and counts once it did open: what
 * was there of one when a connection ended comes again.
 */

/** What the pieces of a file say of its encryption; nothing where it has none. */
export const sealedAs = (
  { sizeBytes }: { sizeBytes: number },
  fileKey: Buffer | undefined,
): Pick<Piece, "sealed" | "stepBytes"> =>
  fileKey === undefined ? {} : { sealed: { fileKey, plainBytes: sizeBytes }, stepBytes: SEGMENT_PLAIN_BYTES };

/** Stored bytes of so many of the file that begin at a segment. */
export const storedLength = ({ sealed }: Pick<Piece, "sealed">, length: number): number =>
  sealed === undefined ? length : sealedBytes(length);

/** Where in the object the byte at `offset` of the piece lies, from the piece's start. A segment begins there. */
export const storedOffset = ({ sealed }: Pick<Piece, "sealed">, offset: number): number =>
  sealed === undefined ? offset : (offset / SEGMENT_PLAIN_BYTES) * SEGMENT_BYTES;

const spare: Buffer[] = [];
const MOST_SPARE = 16;

/** Takes the chunks of one range and hands the bytes of each segment on that opened. The function throws SEAL_BROKEN. */
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
      // The rest was given to another connection.
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

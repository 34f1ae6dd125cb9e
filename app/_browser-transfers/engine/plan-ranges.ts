import type { FolderFile, ObjectFacts } from "#protocol/buckets/browser-transfers.ts";
import { combineCrc32, sumOfSums } from "#storage/checksums/combine-crc32.ts";
import { cutEvenly, partBytesThatFit } from "#storage/s3/plan.ts";

/**
 * Plans how a file is read: in ranges of one object each, small enough for memory. Ranges form groups with one recorded
 * checksum: of an extent of the manifest, of an object, or of its multipart parts. Pure.
 */

export interface Range {
  /** Position in the file. */
  at: number;
  key: string;
  etag: string;
  /** Offset in the object. */
  offset: number;
  length: number;
}

export interface RangeGroup {
  ranges: Range[];
  /** Null when no checksum is recorded. Then only length, order and ETag are verified. */
  sum: { crc32: string; of: "bytes" | "parts" } | null;
}

const RANGE_BYTES = 8 * 1024 * 1024;
/** Pieces up to this size are one range, so that their checksum is compared at once. */
const MOST_WHOLE_BYTES = 32 * 1024 * 1024;

type Piece = FolderFile["pieces"][number];

const cut = (piece: Piece, at: number, rangeBytes: number): Range[] =>
  cutEvenly(piece.length, rangeBytes).map((part) => ({
    at: at + part.offset,
    key: piece.key,
    etag: piece.etag,
    offset: piece.offset + part.offset,
    length: part.length,
  }));

/** Plans the ranges of a file. `kept` is the store's checksum when the file is exactly one object. */
export function planRanges(pieces: readonly Piece[], kept: ObjectFacts["sum"]): RangeGroup[] {
  const groups: RangeGroup[] = [];
  let at = 0;
  for (const piece of pieces) {
    groups.push(planPiece(piece, at, pieces.length === 1 ? kept : null));
    at += piece.length;
  }
  return groups;
}

function planPiece(piece: Piece, at: number, kept: ObjectFacts["sum"]): RangeGroup {
  const rangeBytes = piece.length <= MOST_WHOLE_BYTES ? piece.length : RANGE_BYTES;
  if (piece.crc32 !== null) {
    return { ranges: cut(piece, at, rangeBytes), sum: { crc32: piece.crc32, of: "bytes" } };
  }
  if (kept === null) return { ranges: cut(piece, at, RANGE_BYTES), sum: null };
  if (kept.partCount === null) return { ranges: cut(piece, at, rangeBytes), sum: { crc32: kept.crc32, of: "bytes" } };
  const partBytes = partBytesThatFit(piece.length, kept.partCount);
  if (partBytes === null || partBytes > MOST_WHOLE_BYTES * 2) {
    return { ranges: cut(piece, at, RANGE_BYTES), sum: null };
  }
  return { ranges: cut(piece, at, partBytes), sum: { crc32: kept.crc32, of: "parts" } };
}

/** Returns whether the CRC32s of the ranges match the recorded checksum; null when there is none. */
export function groupIsRight({ ranges, sum }: RangeGroup, sums: readonly string[]): boolean | null {
  if (sum === null) return null;
  if (sum.of === "parts") return sumOfSums(sums) === sum.crc32;
  const whole = ranges.reduce(
    (before, { length }, index) => combineCrc32(before, sums[index] ?? "", length),
    "00000000",
  );
  return whole === sum.crc32;
}

import type { FolderFile, ObjectFacts } from "#protocol/buckets/browser-transfers.ts";
import { combineCrc32, sumOfSums } from "#storage/checksums/combine-crc32.ts";
import { cutEvenly, partBytesThatFit } from "#storage/s3/plan.ts";

/**
 * How a file is read: in ranges of one object each, small enough to be held in memory, and in groups whose checksum is on
 * record: of a manifest's extent, of an object, or of its parts as the store keeps it. Pure.
 */

export interface Range {
  /** Position in the file. */
  at: number;
  key: string;
  etag: string;
  /** In the object. */
  offset: number;
  length: number;
}

export interface RangeGroup {
  ranges: Range[];
  /** Null where nobody kept one: then length, order and version are all that is known. */
  sum: { crc32: string; of: "bytes" | "parts" } | null;
}

const RANGE_BYTES = 8 * 1024 * 1024;
/** Read in one go where its own checksum then shows at once what is wrong. */
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

/** `kept` is what the store keeps of an object that the file is the whole of. */
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

/** Whether ranges with these sums are what is on record; null when there is nothing to compare with. */
export function groupIsRight({ ranges, sum }: RangeGroup, sums: readonly string[]): boolean | null {
  if (sum === null) return null;
  if (sum.of === "parts") return sumOfSums(sums) === sum.crc32;
  const whole = ranges.reduce(
    (before, { length }, index) => combineCrc32(before, sums[index] ?? "", length),
    "00000000",
  );
  return whole === sum.crc32;
}

import type { StoredFile } from "#protocol/checkpoint/adopted.ts";
import type { Extent } from "#protocol/checkpoint/checkpoint.ts";
import { MOST_PACKED_FILE_BYTES, PACK_READ_BYTES, storedBytes } from "#protocol/checkpoint/packing.ts";

/**
 * Decides which small files are fetched together. Files that lie near each other in one object are read in one range, even when
 * unwanted ones lie between them. Everything else is fetched file by file. Pure: no I/O.
 */
export interface Batch {
  key: string;
  etag: string;
  /** Offset in the object. */
  offset: number;
  length: number;
  members: readonly BatchMember[];
}

export interface BatchMember {
  /** Index among the given files. */
  index: number;
  extent: Extent;
}

/** Fetching this many unwanted bytes takes no longer than one more request. */
const MOST_GAP_BYTES = 64 * 1024;

/** Returns the batches, and the indexes of files that are in none. Files in `has` exist already. */
export function planBatches(
  files: readonly Pick<StoredFile, "extents">[],
  has: ReadonlySet<number> = new Set(),
): { batches: Batch[]; alone: number[] } {
  const byObject = new Map<string, BatchMember[]>();
  const alone: number[] = [];
  for (const [index, { extents }] of files.entries()) {
    if (has.has(index)) continue;
    const [extent, ...more] = extents;
    const crc32 = extent?.crc32 ?? null;
    // A file without a known checksum can be neither verified nor recognized after a kill.
    if (extent === undefined || crc32 === null || more.length > 0 || extent.length > MOST_PACKED_FILE_BYTES) {
      alone.push(index);
      continue;
    }
    const member: BatchMember = { index, extent: { ...extent, crc32 } };
    const name = `${extent.etag} ${extent.key}`;
    const members = byObject.get(name);
    if (members === undefined) byObject.set(name, [member]);
    else members.push(member);
  }
  const batches: Batch[] = [];
  for (const members of byObject.values()) {
    for (const near of joinNeighbours(members)) {
      const [only] = near;
      // A single uncompressed file is written straight to its place, like any other file.
      if (near.length === 1 && only !== undefined && only.extent.stored === undefined) alone.push(only.index);
      else batches.push(batchOf(near));
    }
  }
  return { batches, alone: alone.sort((a, b) => a - b) };
}

function joinNeighbours(members: BatchMember[]): BatchMember[][] {
  const joined: BatchMember[][] = [];
  let near: BatchMember[] = [];
  let [start, end] = [0, 0];
  for (const member of members.sort((a, b) => a.extent.offset - b.extent.offset)) {
    const { offset, length } = storedBytes(member.extent);
    const isNear = offset - end <= MOST_GAP_BYTES && offset + length - start <= PACK_READ_BYTES;
    if (near.length === 0 || !isNear) {
      near = [];
      joined.push(near);
      [start, end] = [offset, offset];
    }
    near.push(member);
    end = Math.max(end, offset + length);
  }
  return joined;
}

function batchOf(members: readonly BatchMember[]): Batch {
  const { key = "", etag = "", offset = 0 } = members[0]?.extent ?? {};
  let end = offset;
  for (const { extent } of members) {
    const { offset: from, length } = storedBytes(extent);
    end = Math.max(end, from + length);
  }
  return { key, etag, offset, length: end - offset, members };
}

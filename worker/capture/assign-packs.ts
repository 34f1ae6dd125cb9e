import type { Packing } from "#protocol/checkpoint/packing.ts";
import {
  LEAST_PACK_BYTES,
  MOST_PACK_BYTES,
  PACK_FOLDER,
  PACK_FROM_FILES,
  TARGET_PACKS,
} from "#protocol/checkpoint/packing.ts";

/**
 * Decides which files of a checkpoint go into packs, and into which. The choice is made at capture and kept with the capture. A
 * pack has to be the same bytes after any kill, whatever a profile says by then.
 */

interface NamedSize {
  path: string;
  sizeBytes: number;
}

/** Returns the paths of the files that will lie in packs; none when too few are small, or when the folder of packs is taken. */
export function choosePacked(files: readonly NamedSize[], { belowBytes }: Packing): ReadonlySet<string> {
  const folder = `${PACK_FOLDER}/`;
  const isTaken = files.some(({ path }) => path === PACK_FOLDER || path.startsWith(folder));
  const small = files.filter(({ sizeBytes }) => sizeBytes > 0 && sizeBytes < belowBytes);
  return isTaken || small.length < PACK_FROM_FILES ? new Set() : new Set(small.map(({ path }) => path));
}

/**
 * Returns the number of the pack (from 1) of each file, by the bytes it has there, in order. Files that lie together in the
 * checkpoint lie together in a pack, so that a folder of it needs few reads.
 */
export function assignPacks(lengths: readonly number[]): number[] {
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const packBytes = Math.min(MOST_PACK_BYTES, Math.max(LEAST_PACK_BYTES, Math.ceil(total / TARGET_PACKS)));
  let [number, filled] = [1, 0];
  return lengths.map((length) => {
    if (filled > 0 && filled + length > packBytes) [number, filled] = [number + 1, 0];
    filled += length;
    return number;
  });
}

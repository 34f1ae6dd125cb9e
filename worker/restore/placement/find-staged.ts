import { open } from "node:fs/promises";
import { constants } from "node:fs";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import type { BatchFile } from "../receive-batch.ts";

const LOOKED_AT_A_TIME = 16;

/**
 * Returns which of these small files (by index) an earlier process has written completely. Reads each and compares it
 * with the manifest's checksum. Unreadable files count as missing.
 */
export async function findStaged(files: readonly BatchFile[], indexes: readonly number[]): Promise<Set<number>> {
  const found = new Set<number>();
  await forEachOf(indexes, LOOKED_AT_A_TIME, async (index) => {
    const one = files[index];
    if (one !== undefined && (await isThere(one).catch(() => false))) found.add(index);
  });
  return found;
}

async function isThere({ file, place }: BatchFile): Promise<boolean> {
  const [extent] = file.extents;
  if (extent === undefined) return false;
  const handle = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (!stats.isFile() || stats.size !== file.sizeBytes) return false;
    return crc32Hex(await handle.readFile()) === extent.crc32;
  } finally {
    await handle.close();
  }
}

import * as z from "zod";
import { filePath, type FilePath } from "../base/names.ts";

/**
 * Many small files of a checkpoint are concatenated into a few objects ("packs"), because each object costs a round trip for
 * few bytes. A pack has no index: the manifest gives object and range of each file, so that reading one file is one ranged
 * read. With compression, a file that becomes smaller is stored as one zstd frame.
 */

/** A larger file is never packed, whatever the profile says: it would fill most of a pack. */
export const MOST_PACKED_FILE_BYTES = 4 * 1024 * 1024;
/** Largest pack: it is one request, and only that request is repeated after a failure. */
export const MOST_PACK_BYTES = 8 * 1024 * 1024;
/** Fewer packs would not fill a link with a long round trip. */
export const TARGET_PACKS = 16;
export const LEAST_PACK_BYTES = 1024 * 1024;
/** Adjacent files of a pack are read in ranges of this size, which one connection transfers in a few round trips. */
export const PACK_READ_BYTES = 2 * 1024 * 1024;
/** With fewer small files each gets its own object: sent in parallel they take no longer, and other tools can read them. */
export const PACK_FROM_FILES = 32;

/** Packing as a bucket profile sets it. */
export const packing = z.object({
  /** Files below this size are packed; 0: none. */
  belowBytes: z
    .number()
    .int()
    .min(0)
    .max(MOST_PACKED_FILE_BYTES, `a file of more than ${MOST_PACKED_FILE_BYTES} bytes is never packed`),
  /** Compresses files in packs when that makes them smaller; weights are never compressed. */
  zstd: z.boolean(),
});
export type Packing = z.infer<typeof packing>;

export const DEFAULT_PACKING: Packing = { belowBytes: 256 * 1024, zstd: false };

/** Folder of the packs below the prefix of an attempt. A checkpoint that already uses this name is not packed. */
export const PACK_FOLDER = "_tidemark.packs";

/** Returns the path of pack `number` (from 1), used in keys in place of a file's path. */
export const packPath = (number: number): FilePath =>
  filePath.parse(`${PACK_FOLDER}/${String(number).padStart(5, "0")}.pack`);

interface Lying<Sum extends string | null> {
  offset: number;
  length: number;
  crc32: Sum;
  /** Length and CRC32 of the stored bytes when they differ from the file's own. */
  stored?: { length: number; crc32: string } | undefined;
}

/** Returns offset, length and CRC32 (when known) of an extent's bytes as the object stores them. */
export const storedBytes = <Sum extends string | null>(extent: Lying<Sum>): Omit<Lying<Sum>, "stored"> => ({
  offset: extent.offset,
  length: extent.stored?.length ?? extent.length,
  crc32: extent.stored === undefined ? extent.crc32 : (extent.stored.crc32 as Sum),
});

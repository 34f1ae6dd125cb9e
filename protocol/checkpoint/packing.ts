import * as z from "zod";
import { filePath, type FilePath } from "../base/names.ts";

/**
 * Many small files of a checkpoint lie one behind another in a few objects ("packs"), because each object costs a round
 * trip and next to no bytes. A pack has no index of its own: the manifest says where in which object each file lies, so
 * one file is one ranged read. With compression on, a file that becomes smaller by it lies there as one zstd frame.
 */

/** A larger file is never packed, whatever a profile says: it would be most of a pack by itself. */
export const MOST_PACKED_FILE_BYTES = 4 * 1024 * 1024;
/** A pack is closed before it would be larger: one request, sent again alone when it fails. */
export const MOST_PACK_BYTES = 8 * 1024 * 1024;
/** Fewer packs than this would not fill a long link. */
export const WISHED_PACKS = 16;
export const LEAST_PACK_BYTES = 1024 * 1024;
/** Neighbours in a pack are read in ranges of this: what one connection brings in a few round trips. */
export const PACK_READ_BYTES = 2 * 1024 * 1024;
/** Of fewer small files each gets its own object: side by side they take no longer, and other tools can read them. */
export const PACK_FROM_FILES = 32;

/** What a bucket profile says about packs. */
export const packing = z.object({
  /** Files below this are packed; 0: none. */
  belowBytes: z
    .number()
    .int()
    .min(0)
    .max(MOST_PACKED_FILE_BYTES, `a file of more than ${MOST_PACKED_FILE_BYTES} bytes is never packed`),
  /** Files in packs are compressed where that makes them smaller; weights never are. */
  zstd: z.boolean(),
});
export type Packing = z.infer<typeof packing>;

export const DEFAULT_PACKING: Packing = { belowBytes: 256 * 1024, zstd: false };

/** Where the packs of an attempt lie, below its prefix. A checkpoint that has files of its own there is not packed. */
export const PACK_FOLDER = "_tidemark.packs";

/** The path of pack `number` (from 1) in place of a file's. */
export const packPath = (number: number): FilePath =>
  filePath.parse(`${PACK_FOLDER}/${String(number).padStart(5, "0")}.pack`);

interface Lying<Sum extends string | null> {
  offset: number;
  length: number;
  crc32: Sum;
  /** What lies there in place of the bytes themselves. */
  stored?: { length: number; crc32: string } | undefined;
}

/** The bytes of an extent as they lie in the object: `offset` and how many, and their CRC32, where it is known. */
export const storedBytes = <Sum extends string | null>(extent: Lying<Sum>): Omit<Lying<Sum>, "stored"> => ({
  offset: extent.offset,
  length: extent.stored?.length ?? extent.length,
  crc32: extent.stored === undefined ? extent.crc32 : (extent.stored.crc32 as Sum),
});

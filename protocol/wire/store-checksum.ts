import * as z from "zod";

/** What goes along with the bytes so that the store itself checks them: an `x-amz-checksum-crc32`, a `content-md5`, nothing. */
export const storeChecksum = z.enum(["crc32", "md5", "none"]);
export type StoreChecksum = z.infer<typeof storeChecksum>;

/** What is remembered of a store per endpoint and bucket, so that the next copy need not find it out again. */
export const checksumMemory = z.object({ checksum: storeChecksum, foundAt: z.number() });
export type ChecksumMemory = z.infer<typeof checksumMemory>;

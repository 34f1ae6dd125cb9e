import * as z from "zod";

/** Checksum that is sent with the bytes so that the store verifies them: `x-amz-checksum-crc32`, `content-md5`, or none. */
export const storeChecksum = z.enum(["crc32", "md5", "none"]);
export type StoreChecksum = z.infer<typeof storeChecksum>;

/** Checksum remembered for an endpoint and bucket, so that the next copy need not try again. */
export const checksumMemory = z.object({ checksum: storeChecksum, foundAt: z.number() });
export type ChecksumMemory = z.infer<typeof checksumMemory>;

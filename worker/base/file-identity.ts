import type { BigIntStats } from "node:fs";
import * as z from "zod";

/** Identity and state of a file: device and inode, size, time of the last change. Strings, because the numbers exceed 2^53. */
export const fileIdentity = z.object({ dev: z.string(), ino: z.string(), sizeBytes: z.number(), mtimeNs: z.string() });
export type FileIdentity = z.infer<typeof fileIdentity>;

/** Returns the identity that `stat` tells. */
export const identityOf = (stats: Pick<BigIntStats, "dev" | "ino" | "size" | "mtimeNs">): FileIdentity => ({
  dev: String(stats.dev),
  ino: String(stats.ino),
  sizeBytes: Number(stats.size),
  mtimeNs: String(stats.mtimeNs),
});

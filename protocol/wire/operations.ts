import * as z from "zod";
import { storeTrust } from "./store-trust.ts";
import { addressText, byteCount } from "../base/bounded.ts";
import { crc32Hex, etag } from "../checkpoint/checkpoint.ts";
import { storeChecksum } from "./store-checksum.ts";

/**
 * Every operation of the engine on a store, as data. A request source turns each into one signed request that any HTTP
 * client can send. In direct mode it signs with the keys of the environment; otherwise the hub signs, and the node never
 * sees a key. The engine cannot tell the difference.
 */

const key = addressText(1024).min(1);
const uploadId = addressText(2048).min(1);
const partNumber = z.number().int().min(1).max(10_000);
const md5Hex = z.string().regex(/^[0-9a-f]{32}$/);

/** Absent: as the store's traits say. Set by a node that found out which checksum this store accepts. */
const checksum = storeChecksum.optional();

export const operation = z.discriminatedUnion("op", [
  /** CreateMultipartUpload. The object's metadata gets `nonce`, to recognize a completed upload when the answer was lost. */
  z.object({ op: z.literal("create"), key, nonce: addressText(64), checksum }),
  /**
   * UploadPart of exactly `sizeBytes` bytes. `crc32` is sent when the store accepts it; when the checksum is md5, `md5` is
   * sent in its place.
   */
  z.object({
    op: z.literal("part"),
    key,
    uploadId,
    partNumber,
    sizeBytes: byteCount,
    crc32: crc32Hex,
    md5: md5Hex.optional(),
    checksum,
  }),
  /** PutObject of exactly `sizeBytes` bytes. */
  z.object({
    op: z.literal("put"),
    key,
    sizeBytes: byteCount,
    crc32: crc32Hex,
    md5: md5Hex.optional(),
    checksum,
    nonce: addressText(64),
  }),
  /** ListParts, starting after part number `after`. */
  z.object({ op: z.literal("parts"), key, uploadId, after: z.number().int().min(0).max(10_000) }),
  z.object({ op: z.literal("complete"), key, uploadId }),
  z.object({ op: z.literal("abort"), key, uploadId }),
  z.object({ op: z.literal("head"), key }),
  /** DeleteObject. A hub signs it only for objects that the node wrote to measure its link. */
  z.object({ op: z.literal("delete"), key }),
  /** GET of the whole object by a link that people share; browsers save it and do not show it. Never signed for a node. */
  z.object({ op: z.literal("share"), key }),
  /**
   * Ranged GET, pinned to `etag` (If-Match) when one is known. `isSummed`: GET of the whole object, answered with the
   * store's checksum of it, which stores do not return for ranges.
   */
  z.object({
    op: z.literal("get"),
    key,
    offset: byteCount,
    length: byteCount.min(1),
    etag: etag.nullable(),
    isSummed: z.literal(true).optional(),
    /** For browsers, which decode an answer by its Content-Encoding: asks the store to answer with `identity`. */
    isUncoded: z.literal(true).optional(),
  }),
]);
export type Operation = z.infer<typeof operation>;

/** A request to be sent with exactly these headers until `expiresAt` (epoch ms by the signer's clock). */
export const signedRequest = z.object({
  method: z.enum(["GET", "HEAD", "PUT", "POST", "DELETE"]),
  url: z.string().max(8192),
  headers: z.record(z.string(), z.string()),
  expiresAt: z.number(),
});
export type SignedRequest = z.infer<typeof signedRequest>;

/** Largest number of operations signed in one call. */
export const SIGN_BATCH = 256;

/** Properties of a store that the engine needs for planning: limits and quirks. */
export const storeTraits = z.object({
  minPartBytes: byteCount,
  maxPartBytes: byteCount,
  maxParts: z.number().int().min(1).max(10_000),
  /** Preferred part size when the file size leaves a choice (64 MiB for Storj). */
  preferredPartBytes: byteCount,
  /** Part size that people set for this bucket, for any file size. Absent: none set, or an older hub. */
  tunedPartBytes: byteCount.optional(),
  /** Checksum that is sent with a part: md5 when the store rejects checksum headers. */
  checksum: storeChecksum,
  /** The accepted checksum is unknown: the node tries checksums, best first, and names the result in its operations. */
  probeChecksum: z.boolean().default(false),
  /** Whether the store honors `if-none-match: *` on PUT and Complete. */
  conditionalWrites: z.boolean(),
  /** Whether ETags of multipart objects are stable and comparable. */
  trustEtag: z.boolean(),
  /** Number of connections at the start, and the largest number that may carry parts at a time. */
  startConnections: z.number().int().min(1).max(256).default(8),
  mostConnections: z.number().int().min(1).max(256).default(96),
  /** How long an idle connection may be reused; shorter than the store's own timeout. */
  keepAliveMs: z.number().int().min(0).max(600_000).default(4000),
});
export type StoreTraits = z.infer<typeof storeTraits>;

/** Address of a bucket and the properties of its store. */
export const storeAccess = z.object({
  endpoint: z.string().max(512),
  region: z.string().max(64),
  bucket: z.string().max(255),
  addressing: z.enum(["path", "virtual-host"]),
  traits: storeTraits,
  trust: storeTrust.optional(),
});

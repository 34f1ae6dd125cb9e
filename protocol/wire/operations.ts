import * as z from "zod";
import { storeTrust } from "./store-trust.ts";
import { addressText, byteCount } from "../base/bounded.ts";
import { crc32Hex, etag } from "../checkpoint/checkpoint.ts";
import { storeChecksum } from "./store-checksum.ts";

/**
 * Everything the engine asks of a store, as data. A source of signed requests turns each into one request that can be
 * sent by any HTTP client: in direct mode with the keys of the environment, otherwise the hub does it and the node never
 * sees a key. The engine cannot tell the difference.
 */

const key = addressText(1024).min(1);
const uploadId = addressText(2048).min(1);
const partNumber = z.number().int().min(1).max(10_000);
const md5Hex = z.string().regex(/^[0-9a-f]{32}$/);

/** Left out: what the store's traits say. Given by a node that found out what this store takes. */
const checksum = storeChecksum.optional();

export const operation = z.discriminatedUnion("op", [
  /** CreateMultipartUpload. `nonce` goes into the object's metadata, so that a Complete whose answer was lost can be recognised. */
  z.object({ op: z.literal("create"), key, nonce: addressText(64), checksum }),
  /**
   * UploadPart of exactly `sizeBytes` bytes; `crc32` is sent along where the store accepts it, `md5` in its place where
   * the checksum is md5.
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
  /** ListParts, after part number `after`. */
  z.object({ op: z.literal("parts"), key, uploadId, after: z.number().int().min(0).max(10_000) }),
  z.object({ op: z.literal("complete"), key, uploadId }),
  z.object({ op: z.literal("abort"), key, uploadId }),
  z.object({ op: z.literal("head"), key }),
  /** DeleteObject. A hub signs it for what a node made to measure its link, and for nothing else. */
  z.object({ op: z.literal("delete"), key }),
  /** A GET of the whole object by a link that people pass on: what it leads to is saved, not shown. No node is signed for it. */
  z.object({ op: z.literal("share"), key }),
  /**
   * A ranged GET, pinned to `etag` (If-Match) when one is known. `isSummed`: a GET of all of it, to be answered with the sum
   * that the store keeps of the object, which stores do not give with ranges.
   */
  z.object({
    op: z.literal("get"),
    key,
    offset: byteCount,
    length: byteCount.min(1),
    etag: etag.nullable(),
    isSummed: z.literal(true).optional(),
    /** For browsers, which undo what an object says that it is encoded with: the store is asked to say that it is not. */
    isUncoded: z.literal(true).optional(),
  }),
]);
export type Operation = z.infer<typeof operation>;

/** A request as it must be sent, byte for byte of its headers, until `expiresAt` (epoch ms by the signer's clock). */
export const signedRequest = z.object({
  method: z.enum(["GET", "HEAD", "PUT", "POST", "DELETE"]),
  url: z.string().max(8192),
  headers: z.record(z.string(), z.string()),
  expiresAt: z.number(),
});
export type SignedRequest = z.infer<typeof signedRequest>;

/** Most operations signed in one call. */
export const SIGN_BATCH = 256;

/** What the engine must know of a store to plan: limits and quirks, as data. */
export const storeTraits = z.object({
  minPartBytes: byteCount,
  maxPartBytes: byteCount,
  maxParts: z.number().int().min(1).max(10_000),
  /** Part size to prefer where the size of the file leaves a choice (64 MiB for Storj). */
  preferredPartBytes: byteCount,
  /** Part size that people set for this bucket, whatever the size of the file. Left out: none, or by an older hub. */
  tunedPartBytes: byteCount.optional(),
  /** What goes along with a part: md5 where the store rejects checksum headers. */
  checksum: storeChecksum,
  /** Nobody knows what this store takes: the node finds out by sending, best first, and says so in its operations. */
  probeChecksum: z.boolean().default(false),
  /** `if-none-match: *` on PUT and Complete is honoured. */
  conditionalWrites: z.boolean(),
  /** ETags of multipart objects are stable and comparable. */
  trustEtag: z.boolean(),
  /** Connections to start with, and the most that may ever carry parts at a time. */
  startConnections: z.number().int().min(1).max(256).default(8),
  mostConnections: z.number().int().min(1).max(256).default(96),
  /** How long an idle connection may be used again: less than after what the store closes it. */
  keepAliveMs: z.number().int().min(0).max(600_000).default(4000),
});
export type StoreTraits = z.infer<typeof storeTraits>;

/** Where a bucket is reached, and what its store takes. */
export const storeAccess = z.object({
  endpoint: z.string().max(512),
  region: z.string().max(64),
  bucket: z.string().max(255),
  addressing: z.enum(["path", "virtual-host"]),
  traits: storeTraits,
  trust: storeTrust.optional(),
});

import * as z from "zod";
import { addressText } from "../base/bounded.ts";
import { id } from "../base/names.ts";

/**
 * Requests about the objects in a bucket, and their answers. Keys are untrusted text: they are bounded here, go to the store
 * unchanged, and are made visible wherever they are shown.
 */

/** S3's limit, in UTF-8 bytes. */
const MOST_KEY_BYTES = 1024;
const fits = (text: string): boolean => new TextEncoder().encode(text).length <= MOST_KEY_BYTES;
const text = z
  .string()
  .max(MOST_KEY_BYTES)
  .refine((value) => value.isWellFormed() && fits(value), "a key has at most 1,024 bytes of valid Unicode");
export const bucketPrefix = text;
export const objectKey = text.min(1, "the key is missing");
const cursor = addressText(8192).min(1).nullable();

/** Largest number of rows in one answer. */
export const MOST_ROWS = 1000;
const limit = z.number().int().min(1).max(MOST_ROWS).default(MOST_ROWS);

export const listFolderInput = z.object({
  profileId: id,
  /** Lists the keys that begin with this text, grouped at the next `/`. The text need not end with `/`. */
  prefix: bucketPrefix,
  /** Lists only keys after this one in the store's order; instead of a cursor. */
  startAfter: text.nullable().default(null),
  /** `nextCursor` of the previous answer for the same profile and prefix. */
  cursor: cursor.default(null),
  limit,
});

export interface BucketObject {
  key: string;
  sizeBytes: number;
  etag: string;
  /** Epoch ms by the store's clock. */
  modifiedAt: number;
  /** Storage class as the store names it; null when the store does not tell. */
  storageClass: string | null;
}

export interface FolderPage {
  /** Each ends with `/`. */
  folders: string[];
  objects: BucketObject[];
  /** Names that are not valid UTF-8, with their undecodable bytes replaced. No request can name these objects. */
  unreadable: string[];
  /** Number of names that the store listed again; they are in this or an earlier page once. */
  repeated: number;
  /** Null when the listing is complete. */
  nextCursor: string | null;
}

/** Limits of one call of a walk. The page of the listing that reaches `matches` is still returned whole. */
export const WALK_LIMITS = { requests: 25, ms: 2_500, matches: 500, unreadable: 10 } as const;

export const walkInput = z.object({
  profileId: id,
  prefix: bucketPrefix,
  /** Text to find in the key after `prefix`, ignoring case; empty: everything is counted and nothing listed. */
  words: z.string().max(256),
  cursor: cursor.default(null),
});

/** Result of one call of a walk, which lists everything below a prefix recursively. */
export interface WalkPage {
  /** With `words`: the matching objects, at most WALK_LIMITS.matches plus one page. */
  objects: BucketObject[];
  /** Totals of everything read in this call. */
  looked: { objects: number; bytes: number; requests: number };
  /** Totals of the matching objects. */
  matching: { objects: number; bytes: number };
  /** Names in this call that are not valid UTF-8, and the first of them as in `FolderPage`. They are in no total. */
  unreadable: { count: number; first: string[] };
  /** Number of keys that the store listed again; each is in the totals once. */
  repeated: number;
  /** Last key that was read; null when there was none. */
  through: string | null;
  /** Null when everything below the prefix has been read. */
  nextCursor: string | null;
}

export const listVersionsInput = z.object({ profileId: id, prefix: bucketPrefix, cursor: cursor.default(null), limit });

export interface ObjectVersion {
  key: string;
  /** The store's own id; an object written before versioning has the id `null`. */
  versionId: string;
  isLatest: boolean;
  /** A delete marker has neither size nor ETag. */
  isDeleteMarker: boolean;
  sizeBytes: number;
  etag: string | null;
  modifiedAt: number;
}

export interface VersionsPage {
  /** False when the store has no versions. */
  isSupported: boolean;
  folders: string[];
  versions: ObjectVersion[];
  /** As in `FolderPage`; one name may be on two pages. */
  unreadable: string[];
  nextCursor: string | null;
}

export const objectAt = z.object({ profileId: id, key: objectKey });

/** Kinds of objects that belong to Tidemark. They may be read and copied here, but neither moved nor deleted. */
export type ProtectedWhy = "checkpoint" | "manifest" | "claim" | "keeping" | "leftover" | "tidemark";

export interface Protection {
  why: ProtectedWhy;
  /** Checkpoint whose page can remove the object; null when there is no such page. */
  checkpointId: string | null;
  run: string | null;
  step: number | null;
}

export interface ObjectDetail {
  key: string;
  sizeBytes: number;
  etag: string;
  modifiedAt: number | null;
  storageClass: string | null;
  contentType: string | null;
  /** Checksum headers of the store, and the object's own metadata; both are untrusted text. */
  checksums: { name: string; value: string }[];
  metadata: { name: string; value: string }[];
  versionId: string | null;
  protection: Protection | null;
}

export const listOrphansInput = z.object({ profileId: id, prefix: bucketPrefix, cursor: cursor.default(null) });

/** A multipart upload that was neither completed nor aborted. */
export interface OrphanUpload {
  key: string;
  uploadId: string;
  /** Epoch ms by the store's clock; 0 when it does not say. */
  startedAt: number;
  /** Size of its parts so far; null when it was not requested. */
  sizeBytes: number | null;
  protection: Protection | null;
}

export interface OrphansPage {
  uploads: OrphanUpload[];
  /** As in `FolderPage`; one name may be on two pages. */
  unreadable: string[];
  nextCursor: string | null;
}

/** Largest number of uploads in one answer: the size of each takes one request. */
export const MOST_ORPHANS = 100;

export const abortOrphansInput = z.object({
  profileId: id,
  uploads: z
    .array(z.object({ key: objectKey, uploadId: addressText(2048).min(1) }))
    .min(1)
    .max(MOST_ORPHANS),
});

/** Types that pages show as a picture: none can hold markup or scripts. */
export const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;
export type ImageType = (typeof IMAGE_TYPES)[number];
export const MOST_IMAGE_BYTES = 2 * 1024 * 1024;

export interface ImagePreview {
  type: ImageType;
  base64: string;
}

/** Longest lifetime of a link: a seventh of S3's limit, because a link cannot be revoked. */
export const MOST_SHARE_MS = 86_400_000;
export const shareInput = z.object({
  profileId: id,
  key: objectKey,
  lifetimeMs: z
    .number()
    .int()
    .min(60_000, "a link lives a minute or longer")
    .max(MOST_SHARE_MS, "a link lives a day at most"),
});

export interface ShareLink {
  url: string;
  /** Epoch ms. */
  expiresAt: number;
}

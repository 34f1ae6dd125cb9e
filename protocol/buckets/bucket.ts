import * as z from "zod";
import { addressText } from "../base/bounded.ts";
import { id } from "../base/names.ts";

/**
 * What people ask of the objects in a bucket, and what they are shown. Keys are hostile text: they are bounded here, go to
 * the store as they are, and are made visible wherever they are shown.
 */

/** The protocol's limit, in UTF-8 bytes. */
const MOST_KEY_BYTES = 1024;
const fits = (text: string): boolean => new TextEncoder().encode(text).length <= MOST_KEY_BYTES;
const text = z
  .string()
  .max(MOST_KEY_BYTES)
  .refine((value) => value.isWellFormed() && fits(value), "a key has at most 1,024 bytes of valid Unicode");
export const bucketPrefix = text;
export const objectKey = text.min(1, "the key is missing");
const cursor = addressText(8192).min(1).nullable();

/** Rows of one answer. */
export const MOST_ROWS = 1000;
const limit = z.number().int().min(1).max(MOST_ROWS).default(MOST_ROWS);

export const listFolderInput = z.object({
  profileId: id,
  /** Need not end with `/`: what begins with it is listed, grouped at the next `/`. */
  prefix: bucketPrefix,
  /** Only what comes after this in the store's order; instead of a cursor. */
  startAfter: text.nullable().default(null),
  /** `nextCursor` of the answer before: of the same profile and prefix. */
  cursor: cursor.default(null),
  limit,
});

export interface BucketObject {
  key: string;
  sizeBytes: number;
  etag: string;
  /** Epoch ms by the store's clock. */
  modifiedAt: number;
  /** As the store names it; null where it does not say. */
  storageClass: string | null;
}

export interface FolderPage {
  /** Each ends with `/`. */
  folders: string[];
  objects: BucketObject[];
  /** Names that are not valid UTF-8, with what cannot be shown of them replaced: nobody can ask for them by name. */
  unreadable: string[];
  /** Null when the listing is complete. */
  nextCursor: string | null;
}

/** How far one call of a walk may go; the page of a listing that reaches `matches` is still told whole. */
export const WALK_LIMITS = { requests: 25, ms: 2_500, matches: 500, unreadable: 10 } as const;

export const walkInput = z.object({
  profileId: id,
  prefix: bucketPrefix,
  /** Part of the key behind `prefix`, whatever its case; empty: everything is summed up and nothing named. */
  words: z.string().max(256),
  cursor: cursor.default(null),
});

/** A stretch of a walk over everything below a prefix, folders or not. */
export interface WalkPage {
  /** With words: those that match, at most WALK_LIMITS.matches and a page. */
  objects: BucketObject[];
  /** Looked at in this call. */
  looked: { objects: number; bytes: number; requests: number };
  /** Sums of what matches. */
  matching: { objects: number; bytes: number };
  /** Names that are not valid UTF-8, in this call, and the first of them as those of `FolderPage`: they are in no sum. */
  unreadable: { count: number; first: string[] };
  /** The last key that was looked at; null when there was none. */
  through: string | null;
  /** Null when everything below the prefix has been looked at. */
  nextCursor: string | null;
}

export const listVersionsInput = z.object({ profileId: id, prefix: bucketPrefix, cursor: cursor.default(null), limit });

export interface ObjectVersion {
  key: string;
  /** As the store names it; `null` is a name too, of what was written before versioning. */
  versionId: string;
  isLatest: boolean;
  /** A delete marker has neither size nor ETag. */
  isDeleteMarker: boolean;
  sizeBytes: number;
  etag: string | null;
  modifiedAt: number;
}

export interface VersionsPage {
  /** False where the store does not know of versions. */
  isSupported: boolean;
  folders: string[];
  versions: ObjectVersion[];
  /** As those of `FolderPage`; one may be on two pages. */
  unreadable: string[];
  nextCursor: string | null;
}

export const objectAt = z.object({ profileId: id, key: objectKey });

/** What belongs to Tidemark may be read and copied here, and neither moved nor deleted. */
export type ProtectedWhy = "checkpoint" | "manifest" | "claim" | "keeping" | "leftover" | "tidemark";

export interface Protection {
  why: ProtectedWhy;
  /** Where it can be removed; null when there is no such page. */
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
  /** Checksum headers of the store, and the object's own metadata; strangers' text. */
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
  /** Of its parts so far; null where that was not asked for. */
  sizeBytes: number | null;
  protection: Protection | null;
}

export interface OrphansPage {
  uploads: OrphanUpload[];
  /** As those of `FolderPage`; one may be on two pages. */
  unreadable: string[];
  nextCursor: string | null;
}

/** Uploads of one answer: the size of each takes a call. */
export const MOST_ORPHANS = 100;

export const abortOrphansInput = z.object({
  profileId: id,
  uploads: z
    .array(z.object({ key: objectKey, uploadId: addressText(2048).min(1) }))
    .min(1)
    .max(MOST_ORPHANS),
});

/** What the pages show as a picture: nothing that can hold markup or scripts. */
export const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;
export type ImageType = (typeof IMAGE_TYPES)[number];
export const MOST_IMAGE_BYTES = 2 * 1024 * 1024;

export interface ImagePreview {
  type: ImageType;
  base64: string;
}

/** A link cannot be taken back, so it does not live long: a seventh of what the protocol would allow. */
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

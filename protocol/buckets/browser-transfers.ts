import * as z from "zod";
import { addressText, byteCount } from "../base/bounded.ts";
import { crc32Hex, etag } from "../checkpoint/checkpoint.ts";
import type { FaultData } from "../faults/fault.ts";
import { filePath, id } from "../base/names.ts";
import type { SignedRequest } from "../wire/operations.ts";
import type { PreflightView } from "../wire/profiles.ts";

/**
 * Requests of a page that moves bytes between a browser and a bucket. Bytes go directly; the hub starts, signs, checks and
 * completes. An upload belongs to the person who started it: its parts are signed for nobody else.
 */

/** Returns why the key of an upload is refused, or null when it is fine. */
export function whyKeyRefused(key: string): string | null {
  if (key.length === 0) return "it is empty";
  if (!key.isWellFormed()) return "it is not valid Unicode";
  if (new TextEncoder().encode(key).length > 1024) return "it is longer than 1,024 bytes";
  if (/[\u0000-\u001f\u007f-\u009f]/.test(key)) return "it contains control characters";
  if (key.includes("\\")) return "it contains a backslash";
  for (const segment of key.split("/")) {
    if (segment === "") return "it has an empty segment";
    if (segment === "." || segment === "..") return "it contains '.' or '..'";
  }
  return null;
}

const newKey = z
  .string()
  .max(1024, "the key was refused: it is longer than 1,024 bytes")
  .superRefine((key, context) => {
    const why = whyKeyRefused(key);
    if (why !== null) context.addIssue({ code: "custom", message: `the key was refused: ${why}` });
  });
const anyKey = addressText(1024).min(1);

/** Largest number of files started, completed or checked in one call. */
export const FILES_PER_CALL = 50;
/** Largest number of parts signed in one call. */
export const PARTS_PER_CALL = 64;

export const startUploadsInput = z.object({
  profileId: id,
  /** `keep`: an existing object stays, and the upload of that file is refused. */
  ifThere: z.enum(["keep", "replace"]),
  files: z
    .array(
      z.object({
        /** Made by the page, so that a repeated request starts one upload. */
        id,
        key: newKey,
        sizeBytes: byteCount,
      }),
    )
    .min(1)
    .max(FILES_PER_CALL),
});

/** The page computes a part's CRC32 before it requests the signature, which covers the checksum where the store supports it. */
export const signPartsInput = z.object({
  id,
  parts: z
    .array(z.object({ partNumber: z.number().int().min(1).max(10_000), crc32: crc32Hex }))
    .min(1)
    .max(PARTS_PER_CALL),
});

export const finishUploadsInput = z.object({
  uploads: z
    .array(
      z.object({
        id,
        /** CRC32 of every part in order, as the page read them. */
        sums: z.array(crc32Hex).max(10_000),
      }),
    )
    .min(1)
    .max(FILES_PER_CALL),
});

export const uploadIds = z.object({ ids: z.array(id).min(1).max(FILES_PER_CALL) });

export const lookAtInput = z.object({ profileId: id, keys: z.array(anyKey).min(1).max(FILES_PER_CALL) });
export const signReadsInput = z.object({
  profileId: id,
  objects: z
    .array(z.object({ key: anyKey, etag }))
    .min(1)
    .max(FILES_PER_CALL),
});
/** Lists a prefix of a bucket, or the files of a checkpoint. */
export const listFolderInput = z.union([
  z.object({ profileId: id, prefix: addressText(1024), cursor: addressText(8192).min(1).nullable() }),
  /** Without `path`: all files of the checkpoint. */
  z.object({ checkpointId: id, path: filePath.optional() }),
]);
export const askCorsInput = z.object({ profileId: id });

/** Metadata of the object at a key. */
export interface ObjectFacts {
  key: string;
  sizeBytes: number;
  etag: string;
  modifiedAt: number | null;
  /** Checksum that the store holds: the CRC32 of the bytes, or with `partCount` the CRC32 over the CRC32s of the parts. */
  sum: { crc32: string; partCount: number | null } | null;
}

export type StartedUpload =
  | {
      id: string;
      outcome: "started";
      /** An upload of 0 or 1 part is sent with PutObject. */
      partBytes: number;
      partCount: number;
    }
  | { id: string; outcome: "there"; found: ObjectFacts; /** How this hub would cut the file. */ partBytes: number }
  | { id: string; outcome: "refused"; fault: FaultData };

export interface UploadedPart {
  partNumber: number;
  sizeBytes: number;
  /** Null when the store holds no checksum. */
  crc32: string | null;
}

export interface UploadParts {
  partBytes: number;
  partCount: number;
  /** Parts that the store holds with the right length. For an upload of one part: part 1 once the object exists. */
  parts: UploadedPart[];
}

export type FinishedUpload =
  | { id: string; outcome: "done"; etag: string; sizeBytes: number }
  | { id: string; outcome: "missing"; /** To be sent again. */ partNumbers: number[] }
  | { id: string; outcome: "failed"; fault: FaultData };

export interface OpenUpload {
  id: string;
  profileId: string;
  profileName: string;
  bucket: string;
  key: string;
  sizeBytes: number;
  startedAt: number;
}

/** A range of an object with a recorded checksum. */
export interface KnownSum {
  offset: number;
  length: number;
  crc32: string;
}

export interface FolderFile {
  /** Path within the folder. */
  path: string;
  profileId: string;
  sizeBytes: number;
  modifiedAt: number | null;
  /** One entry for a plain object; the extents of a checkpoint's file, in order. */
  pieces: { key: string; offset: number; length: number; etag: string; crc32: string | null }[];
}

export interface FolderPage {
  name: string;
  files: FolderFile[];
  /** Names that are not valid UTF-8, for display: no request can name them. */
  unreadable: string[];
  /** Encrypted by the hub, and valid for this listing only. */
  cursor: string | null;
}

export interface LookedAt extends ObjectFacts {
  /** Checksums from the manifest of the object's checkpoint; empty when it belongs to none. */
  sums: KnownSum[];
}

export interface ReadSignature {
  key: string;
  request: SignedRequest;
}

export interface CorsAnswer {
  isAllowed: boolean;
  origin: string;
  preflights: PreflightView[];
}

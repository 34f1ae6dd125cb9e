import * as z from "zod";
import { addressText, byteCount } from "../base/bounded.ts";
import { crc32Hex, etag } from "../checkpoint/checkpoint.ts";
import type { FaultData } from "../faults/fault.ts";
import { filePath, id } from "../base/names.ts";
import type { SignedRequest } from "../wire/operations.ts";
import type { PreflightView } from "../wire/profiles.ts";

/**
 * What a page asks of the hub to move bytes between a browser and a bucket. Bytes go directly; the hub begins, signs,
 * looks and completes. An upload belongs to the person who began it: its parts are signed for nobody else.
 */

/** Why an object's key is refused for an upload, or null when it is fine. */
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

/** Most files begun, completed or looked at in one call. */
export const FILES_PER_CALL = 50;
/** Most parts signed in one call. */
export const PARTS_PER_CALL = 64;

export const startUploadsInput = z.object({
  profileId: id,
  /** `keep`: an object that is there stays, and the upload of that file is refused. */
  ifThere: z.enum(["keep", "replace"]),
  files: z
    .array(
      z.object({
        /** Made by the page, so that a repeated request begins one upload. */
        id,
        key: newKey,
        sizeBytes: byteCount,
      }),
    )
    .min(1)
    .max(FILES_PER_CALL),
});

/** The CRC32 goes into the signature where the store takes one, so it is known before a part is signed. */
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
/** A prefix of a bucket, or the files of a checkpoint. */
export const listFolderInput = z.union([
  z.object({ profileId: id, prefix: addressText(1024), cursor: addressText(8192).min(1).nullable() }),
  /** Left out: all files of it. */
  z.object({ checkpointId: id, path: filePath.optional() }),
]);
export const askCorsInput = z.object({ profileId: id });

/** What lies at a key. */
export interface ObjectFacts {
  key: string;
  sizeBytes: number;
  etag: string;
  modifiedAt: number | null;
  /** What the store keeps of its bytes: their CRC32, or (with `partCount`) that of the CRC32s of its parts. */
  sum: { crc32: string; partCount: number | null } | null;
}

export type StartedUpload =
  | {
      id: string;
      outcome: "started";
      /** 0 and 1 part are sent as one PutObject. */
      partBytes: number;
      partCount: number;
    }
  | { id: string; outcome: "there"; found: ObjectFacts; /** How this hub would cut the file. */ partBytes: number }
  | { id: string; outcome: "refused"; fault: FaultData };

export interface UploadedPart {
  partNumber: number;
  sizeBytes: number;
  /** Null where the store keeps none. */
  crc32: string | null;
}

export interface UploadParts {
  partBytes: number;
  partCount: number;
  /** What the store has, of the length it must have. For a file in one piece: part 1 once the object is there. */
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

/** A stretch of an object whose checksum is on record. */
export interface KnownSum {
  offset: number;
  length: number;
  crc32: string;
}

export interface FolderFile {
  /** Within the folder. */
  path: string;
  profileId: string;
  sizeBytes: number;
  modifiedAt: number | null;
  /** One for plain objects; the extents of a checkpoint's file, in order. */
  pieces: { key: string; offset: number; length: number; etag: string; crc32: string | null }[];
}

export interface FolderPage {
  name: string;
  files: FolderFile[];
  /** Names that are not valid UTF-8, for people: no request can ask for them. */
  unreadable: string[];
  /** Sealed. */
  cursor: string | null;
}

export interface LookedAt extends ObjectFacts {
  /** From the manifest of the checkpoint the object belongs to; empty when it belongs to none. */
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

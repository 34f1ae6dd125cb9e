import * as z from "zod";
import { filePath, id } from "../base/names.ts";
import { fileAttributes } from "./file-attributes.ts";
import { checkpointPlace } from "./place.ts";

/**
 * Format of encrypted ("sealed") checkpoints. A file is cut into segments, each encrypted separately with AES-256-GCM under
 * a key of that file. So any range consists of whole segments, and a restarted upload produces the same bytes. File keys are
 * derived from one random key of the checkpoint. This root key is wrapped (HPKE, RFC 9180) for the public key of the bucket
 * profile, so that nodes can encrypt but not decrypt. See docs/formats.md. Pure: shapes only, no keys.
 */

/** Length of a stored segment with its tag; the last segment of a file is shorter. */
export const SEGMENT_BYTES = 256 * 1024;
export const SEAL_TAG_BYTES = 16;
/** File bytes in a whole segment. */
export const SEGMENT_PLAIN_BYTES = SEGMENT_BYTES - SEAL_TAG_BYTES;

/** Returns the encrypted length of a file (or zstd frame). An empty file has no object. */
export const sealedBytes = (plainBytes: number): number =>
  plainBytes + Math.ceil(plainBytes / SEGMENT_PLAIN_BYTES) * SEAL_TAG_BYTES;

/** Returns the file bytes in an encrypted range that begins at a segment; negative when the length cannot be valid. */
export const plainBytesOf = (sealed: number): number => sealed - Math.ceil(sealed / SEGMENT_BYTES) * SEAL_TAG_BYTES;

export const isSealedLength = (sealed: number): boolean =>
  sealed === 0 || sealed % SEGMENT_BYTES > SEAL_TAG_BYTES || sealed % SEGMENT_BYTES === 0;

/** Encryption setting of a profile. `names`: encrypts the names of files too. */
export const SEALINGS = ["off", "content", "names"] as const;
export const sealing = z.enum(SEALINGS);
export type Sealing = z.infer<typeof sealing>;

const base64url = z.string().regex(/^[A-Za-z0-9_-]+$/);
/** 32 bytes: an X25519 key or the key of a checkpoint. */
export const key32 = base64url.length(43);

/** Encryption data for a node: enough to encrypt, nothing that decrypts. */
export const nodeSealing = z.object({ keyId: id, publicKey: key32, hideNames: z.boolean() });
export type NodeSealing = z.infer<typeof nodeSealing>;

/** Large enough for the checksums and names of 50,000 files. */
const MOST_INSIDE_CHARACTERS = 48 * 1024 * 1024;

/** Encryption fields in the manifest of a sealed checkpoint. */
export const sealedTransform = z.object({
  kind: z.literal("sealed"),
  /** Version of the format described above. */
  scheme: z.literal(1),
  /** Id of the profile's wrapping key. */
  keyId: id,
  /** The wrapped key of the checkpoint: encapsulated key and ciphertext. */
  wrapped: base64url.max(256),
  /** Encrypted with the checkpoint's key: checksums of the files' own bytes, and their names when those are hidden. */
  inside: base64url.max(MOST_INSIDE_CHARACTERS),
  /** The paths in `files` are placeholders for hidden names. */
  hideNames: z.boolean(),
  /** Files with fewer stored bytes than their own were compressed before encryption. */
  zstd: z.boolean(),
});
export type SealedTransform = z.infer<typeof sealedTransform>;

/** Plaintext of `inside`. */
export const sealedInside = z.object({
  /** Paths of the files in order, when the manifest hides them. */
  paths: z.array(filePath).nullable(),
  /** CRC32 of the file's own bytes, for each of its extents. */
  sums: z.array(z.array(z.string().regex(/^[0-9a-f]{8}$/))),
  /** Present when the manifest hides names: a place contains names. */
  place: checkpointPlace.optional(),
  attributes: fileAttributes.optional(),
});
export type SealedInside = z.infer<typeof sealedInside>;

/** Folder below an attempt for files with hidden names. */
export const HIDDEN_FOLDER = "_tidemark.sealed";

/** The key of a checkpoint, for a node that may restore it. */
export interface ReleasedKey {
  key: string;
}
export const releaseKeyInput = z.object({ checkpointId: id });

/** A wrapping key of a profile as pages show it, without the key itself. */
export interface SealKeyView {
  id: string;
  /** First characters of the fingerprint of the public key, to compare with a printed copy. */
  fingerprint: string;
  createdAt: number;
  /** Time of the last export; null: never exported. */
  exportedAt: number | null;
  exportedBy: string | null;
  isImported: boolean;
  /** Complete checkpoints that only this key decrypts. */
  checkpoints: number;
  /** Whether new checkpoints are encrypted for this key. */
  isCurrent: boolean;
}

/** Key state of an encrypted checkpoint. */
export interface SealedView {
  /** Whether the hub has its key; without the key nobody can read it. */
  isKeyHere: boolean;
  fingerprint: string | null;
}

export interface SealingView {
  sealing: Sealing;
  /** Complete checkpoints without encryption, made before it was switched on. */
  plainCheckpoints: number;
  /** Complete checkpoints whose key this hub does not have. */
  lockedCheckpoints: number;
  /** Newest first. */
  keys: SealKeyView[];
}

export const setSealingInput = z.object({ id, sealing, understood: z.boolean().default(false) });
export const exportSealKeyInput = z.object({ profileId: id, keyId: id, password: z.string().max(256) });
/** An exported key: one line of text, to be stored away from the hub. */
export interface SealKeyExport {
  text: string;
}
export const importSealKeyInput = z.object({
  profileId: id,
  text: z.string().trim().min(1, "paste the exported key").max(512),
});

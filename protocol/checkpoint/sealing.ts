import * as z from "zod";
import { filePath, id } from "../base/names.ts";
import { fileAttributes } from "./file-attributes.ts";
import { checkpointPlace } from "./place.ts";

/**
 * What encrypted ("sealed") checkpoints look like. The bytes of a file are cut into segments, each encrypted by itself with
 * AES-256-GCM under a key of that file, so that any range is whole segments and a restart encrypts nothing to other bytes.
 * The keys of files are derived from one random key of the checkpoint, and that one is wrapped (HPKE, RFC 9180) for the
 * public key of the bucket profile: nodes can lock and not unlock. See docs/formats.md. Pure: no keys here, only shapes.
 */

/** A segment as it lies in the object, its tag included; the last one of a file is shorter. */
export const SEGMENT_BYTES = 256 * 1024;
export const SEAL_TAG_BYTES = 16;
/** Bytes of the file in a whole segment. */
export const SEGMENT_PLAIN_BYTES = SEGMENT_BYTES - SEAL_TAG_BYTES;

/** Bytes that a file (or a frame) of so many has when it is sealed. An empty file has no object. */
export const sealedBytes = (plainBytes: number): number =>
  plainBytes + Math.ceil(plainBytes / SEGMENT_PLAIN_BYTES) * SEAL_TAG_BYTES;

/** The other way round: bytes of the file in so many that begin at a segment; less than nothing is in no segment. */
export const plainBytesOf = (sealed: number): number => sealed - Math.ceil(sealed / SEGMENT_BYTES) * SEAL_TAG_BYTES;

export const isSealedLength = (sealed: number): boolean =>
  sealed === 0 || sealed % SEGMENT_BYTES > SEAL_TAG_BYTES || sealed % SEGMENT_BYTES === 0;

/** What a profile says. `names`: the names of files are not to be read in the bucket either. */
export const SEALINGS = ["off", "content", "names"] as const;
export const sealing = z.enum(SEALINGS);
export type Sealing = z.infer<typeof sealing>;

const base64url = z.string().regex(/^[A-Za-z0-9_-]+$/);
/** 32 bytes: of X25519 a key, of a checkpoint its key. */
export const key32 = base64url.length(43);

/** What a node is told: enough to lock, nothing that unlocks. */
export const nodeSealing = z.object({ keyId: id, publicKey: key32, hideNames: z.boolean() });
export type NodeSealing = z.infer<typeof nodeSealing>;

/** The sums and names of 50,000 files. */
const MOST_INSIDE_CHARACTERS = 48 * 1024 * 1024;

/** How the manifest of a sealed checkpoint says so. */
export const sealedTransform = z.object({
  kind: z.literal("sealed"),
  /** The way described here; another one is another number. */
  scheme: z.literal(1),
  /** Of the profile's wrapping key. */
  keyId: id,
  /** The key of the checkpoint, wrapped: encapsulated key and ciphertext. */
  wrapped: base64url.max(256),
  /** Encrypted with it: the checksums of the files' own bytes, and their names where those are hidden. */
  inside: base64url.max(MOST_INSIDE_CHARACTERS),
  /** The names in `files` are not those of the files. */
  hideNames: z.boolean(),
  /** A file that has fewer bytes stored than its own was compressed before it was sealed. */
  zstd: z.boolean(),
});
export type SealedTransform = z.infer<typeof sealedTransform>;

/** What stands encrypted in `inside`. */
export const sealedInside = z.object({
  /** Of the files in their order, where the manifest does not say them. */
  paths: z.array(filePath).nullable(),
  /** CRC32 of the file's own bytes, for each of its extents. */
  sums: z.array(z.array(z.string().regex(/^[0-9a-f]{8}$/))),
  /** Where the manifest does not say it, because it names files. */
  place: checkpointPlace.optional(),
  attributes: fileAttributes.optional(),
});
export type SealedInside = z.infer<typeof sealedInside>;

/** The folder below an attempt where files without their names lie. */
export const HIDDEN_FOLDER = "_tidemark.sealed";

/** The key of a checkpoint, for a node that may restore it. */
export interface ReleasedKey {
  key: string;
}
export const releaseKeyInput = z.object({ checkpointId: id });

/** A wrapping key of a profile as people see it: never the key itself. */
export interface SealKeyView {
  id: string;
  /** First characters of the fingerprint of its public half, to compare with a printed copy. */
  fingerprint: string;
  createdAt: number;
  /** When somebody last took a copy of it; null: nobody has. */
  exportedAt: number | null;
  exportedBy: string | null;
  isImported: boolean;
  /** Complete checkpoints that only this key opens. */
  checkpoints: number;
  /** New checkpoints are locked for this one. */
  isCurrent: boolean;
}

/** Of an encrypted checkpoint. */
export interface SealedView {
  /** The hub has its key; without it nobody reads it. */
  isKeyHere: boolean;
  fingerprint: string | null;
}

export interface SealingView {
  sealing: Sealing;
  /** Complete checkpoints that lie there as they are, from before it was switched on. */
  plainCheckpoints: number;
  /** Complete checkpoints whose key this hub does not have. */
  lockedCheckpoints: number;
  /** The newest first. */
  keys: SealKeyView[];
}

export const setSealingInput = z.object({ id, sealing, understood: z.boolean().default(false) });
export const exportSealKeyInput = z.object({ profileId: id, keyId: id, password: z.string().max(256) });
/** What an export gives: one line of text, to be kept where the hub is not. */
export interface SealKeyExport {
  text: string;
}
export const importSealKeyInput = z.object({
  profileId: id,
  text: z.string().trim().min(1, "paste the exported key").max(512),
});

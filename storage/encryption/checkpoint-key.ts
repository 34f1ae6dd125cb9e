import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";
import { filePath, type FilePath } from "#protocol/base/names.ts";
import { HIDDEN_FOLDER, sealedInside, type SealedInside } from "#protocol/checkpoint/sealing.ts";
import { openSealed, sealFor } from "./hpke.ts";

/**
 * The key of a checkpoint and the keys derived from it. The key is random, made right before the upload, used for one
 * checkpoint and wrapped before it leaves the node. HKDF-SHA256 derives all other keys under separate labels, so no two
 * uses share a key: one per file name, one for the sealed part of the manifest, one for hidden names.
 */

export const CHECKPOINT_KEY_BYTES = 32;

/** Identifies the checkpoint of a wrapped key. It is authenticated, so the key cannot be unwrapped for another checkpoint. */
export interface SealedAt {
  /** Id of the profile's wrapping key. */
  keyId: string;
  id: string;
  run: string;
  step: number;
}

const INFO = Buffer.from("tidemark checkpoint key 1");
const aadOf = ({ keyId, id, run, step }: SealedAt): Buffer => Buffer.from(JSON.stringify([keyId, id, run, step]));

export const newCheckpointKey = (): Buffer => randomBytes(CHECKPOINT_KEY_BYTES);

/** Wraps a checkpoint key for the holder of the private key; base64url, as in the manifest. */
export const wrapCheckpointKey = (publicKey: string, key: Uint8Array, at: SealedAt): string =>
  sealFor(Buffer.from(publicKey, "base64url"), key, { info: INFO, aad: aadOf(at) }).toString("base64url");

/** Unwraps a checkpoint key. @throws Fault SEAL_BROKEN */
export function unwrapCheckpointKey(privateKey: Uint8Array, wrapped: string, at: SealedAt): Buffer {
  const key = openSealed(privateKey, Buffer.from(wrapped, "base64url"), { info: INFO, aad: aadOf(at) });
  if (key.length !== CHECKPOINT_KEY_BYTES) throw new Fault("SEAL_BROKEN", { op: "unwrap" });
  return key;
}

const derive = (key: Uint8Array, label: string, about = ""): Buffer =>
  Buffer.from(hkdfSync("sha256", key, Buffer.alloc(0), Buffer.from(`tidemark ${label} 1\0${about}`), 32));

/** Returns the key of a file. It depends on the file's name, so a file stored under another name does not open. */
export const fileKeyOf = (key: Uint8Array, path: string): Buffer => derive(key, "file", path);

/** Returns the object path of a file with a hidden name: constant within a checkpoint, different between checkpoints. */
export const hiddenPathOf = (key: Uint8Array, path: string): FilePath =>
  filePath.parse(
    `${HIDDEN_FOLDER}/${createHmac("sha256", derive(key, "name")).update(path).digest("hex").slice(0, 32)}`,
  );

/** Returns a public key's fingerprint for people to compare, in groups of four hex digits. */
export const fingerprintOf = (publicKey: string): string =>
  (
    createHash("sha256").update(Buffer.from(publicKey, "base64url")).digest("hex").slice(0, 24).match(/.{4}/g) ?? []
  ).join(" ");

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Seals the part of the manifest that needs the key. `bound` is the outer part that is authenticated with it. */
export function sealInside(key: Uint8Array, inside: SealedInside, bound: string): string {
  const text = Buffer.from(JSON.stringify(inside));
  // Derived from the content: sealing again after a crash gives the same bytes, and no other content shares this IV.
  const iv = createHmac("sha256", derive(key, "inside iv"))
    .update(`${Buffer.byteLength(bound)} ${bound}`)
    .update(text)
    .digest()
    .subarray(0, IV_BYTES);
  const cipher = createCipheriv("aes-256-gcm", derive(key, "inside"), iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(bound));
  return Buffer.concat([iv, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString("base64url");
}

/** Opens the sealed part of a manifest. @throws Fault SEAL_BROKEN */
export function openInside(key: Uint8Array, sealed: string, bound: string): SealedInside {
  try {
    const bytes = Buffer.from(sealed, "base64url");
    const decipher = createDecipheriv("aes-256-gcm", derive(key, "inside"), bytes.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(Buffer.from(bound));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
    return sealedInside.parse(JSON.parse(text.toString("utf8")));
  } catch (cause) {
    throw new Fault("SEAL_BROKEN", { op: "open the manifest", cause });
  }
}

import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";
import { filePath, type FilePath } from "#protocol/base/names.ts";
import { HIDDEN_FOLDER, sealedInside, type SealedInside } from "#protocol/checkpoint/sealing.ts";
import { openSealed, sealFor } from "./hpke.ts";

/**
 * The key of a checkpoint and what comes from it. It is random, made when the checkpoint is about to be sent, used for this
 * one only, and leaves the node wrapped. Everything else is derived from it with HKDF-SHA256 under a label of its own, so no
 * two uses share a key: each file has one by its name, what stands inside the manifest has one, and so have hidden names.
 */

export const CHECKPOINT_KEY_BYTES = 32;

/** Which checkpoint a wrapped key is of: bound to it, so that it opens as the key of no other. */
export interface SealedAt {
  /** Of the profile's wrapping key. */
  keyId: string;
  id: string;
  run: string;
  step: number;
}

const INFO = Buffer.from("tidemark checkpoint key 1");
const aadOf = ({ keyId, id, run, step }: SealedAt): Buffer => Buffer.from(JSON.stringify([keyId, id, run, step]));

export const newCheckpointKey = (): Buffer => randomBytes(CHECKPOINT_KEY_BYTES);

/** Base64url, as the manifest has it. */
export const wrapCheckpointKey = (publicKey: string, key: Uint8Array, at: SealedAt): string =>
  sealFor(Buffer.from(publicKey, "base64url"), key, { info: INFO, aad: aadOf(at) }).toString("base64url");

/** @throws Fault SEAL_BROKEN */
export function unwrapCheckpointKey(privateKey: Uint8Array, wrapped: string, at: SealedAt): Buffer {
  const key = openSealed(privateKey, Buffer.from(wrapped, "base64url"), { info: INFO, aad: aadOf(at) });
  if (key.length !== CHECKPOINT_KEY_BYTES) throw new Fault("SEAL_BROKEN", { op: "unwrap" });
  return key;
}

const derive = (key: Uint8Array, label: string, about = ""): Buffer =>
  Buffer.from(hkdfSync("sha256", key, Buffer.alloc(0), Buffer.from(`tidemark ${label} 1\0${about}`), 32));

/** The key of a file, by its own name: a file under another's name does not open. */
export const fileKeyOf = (key: Uint8Array, path: string): Buffer => derive(key, "file", path);

/** Where a file lies whose name is not to be read in the bucket: always the same for one checkpoint, never for two. */
export const hiddenPathOf = (key: Uint8Array, path: string): FilePath =>
  filePath.parse(
    `${HIDDEN_FOLDER}/${createHmac("sha256", derive(key, "name")).update(path).digest("hex").slice(0, 32)}`,
  );

/** What people compare: of a public key, in groups of four. */
export const fingerprintOf = (publicKey: string): string =>
  (
    createHash("sha256").update(Buffer.from(publicKey, "base64url")).digest("hex").slice(0, 24).match(/.{4}/g) ?? []
  ).join(" ");

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The part of the manifest that only who has the key reads. `bound`: what of the manifest outside it must stay as it is. */
export function sealInside(key: Uint8Array, inside: SealedInside, bound: string): string {
  const text = Buffer.from(JSON.stringify(inside));
  // From what is sealed: told again after a kill it is the same, and nothing else is ever sealed under the same one.
  const iv = createHmac("sha256", derive(key, "inside iv"))
    .update(`${Buffer.byteLength(bound)} ${bound}`)
    .update(text)
    .digest()
    .subarray(0, IV_BYTES);
  const cipher = createCipheriv("aes-256-gcm", derive(key, "inside"), iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(bound));
  return Buffer.concat([iv, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString("base64url");
}

/** @throws Fault SEAL_BROKEN */
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

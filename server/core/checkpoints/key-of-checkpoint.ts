import { stepText } from "#protocol/checkpoint/step-words.ts";
import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { isSealed, openManifest, type SealedManifest } from "#storage/encryption/open-manifest.ts";
import type { Hub } from "../api/hub.ts";
import { sealKeyPlace } from "#server/signer/secret-place.ts";

/**
 * Unwraps the key of one encrypted checkpoint in the signing process. The private key never leaves that process. The
 * unwrapped key opens this checkpoint only, and callers do not store it.
 */

export type Unlocking = Pick<Hub, "db" | "signer">;

/**
 * Returns the key of an encrypted checkpoint. @throws Fault SEAL_KEY_MISSING (the hub does not have the private key),
 * SEAL_BROKEN
 */
export async function keyOfCheckpoint(
  { db, signer }: Unlocking,
  read: Pick<SealedManifest, "id" | "run" | "step" | "transform">,
): Promise<Buffer> {
  const { keyId, wrapped } = read.transform;
  const secret = await db.sealKeySecret.findUnique({ where: { keyId } });
  if (secret === null)
    throw new Fault("SEAL_KEY_MISSING", { op: "unlock", subject: `${stepText(read.step)} of ${read.run}` });
  const at = { keyId, id: read.id, run: read.run, step: read.step };
  const { key } = await signer.unwrap({ place: sealKeyPlace(keyId), sealed: secret.sealed, wrapped, at });
  return Buffer.from(key, "base64url");
}

/** Returns the decrypted manifest and its key; `key` null: it is not encrypted. Faults: those of `keyOfCheckpoint`. */
export async function unlockManifest(
  hub: Unlocking,
  read: StoredManifest,
): Promise<{ manifest: StoredManifest; key: Buffer | null }> {
  if (!isSealed(read)) return { manifest: read, key: null };
  const key = await keyOfCheckpoint(hub, read);
  return { manifest: openManifest(read, key), key };
}

import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { isSealed, openManifest, type SealedManifest } from "#storage/encryption/open-manifest.ts";
import type { Hub } from "../api/hub.ts";
import { sealKeyPlace } from "#server/signer/secret-place.ts";

/**
 * The key of one sealed checkpoint, unwrapped by the keeper. The private half never comes here; what comes is good for this
 * checkpoint alone, and is kept by nobody.
 */

export type Unlocking = Pick<Hub, "db" | "keeper">;

/** @throws Fault SEAL_KEY_MISSING (the hub does not have that key), SEAL_BROKEN */
export async function keyOfCheckpoint(
  { db, keeper }: Unlocking,
  read: Pick<SealedManifest, "id" | "run" | "step" | "transform">,
): Promise<Buffer> {
  const { keyId, wrapped } = read.transform;
  const secret = await db.sealKeySecret.findUnique({ where: { keyId } });
  if (secret === null)
    throw new Fault("SEAL_KEY_MISSING", { op: "unlock", subject: `step ${read.step} of ${read.run}` });
  const at = { keyId, id: read.id, run: read.run, step: read.step };
  const { key } = await keeper.unwrap({ place: sealKeyPlace(keyId), sealed: secret.sealed, wrapped, at });
  return Buffer.from(key, "base64url");
}

/** The manifest as who has the key reads it, and the key; null: it is not sealed. Faults: as above. */
export async function unlockManifest(
  hub: Unlocking,
  read: StoredManifest,
): Promise<{ manifest: StoredManifest; key: Buffer | null }> {
  if (!isSealed(read)) return { manifest: read, key: null };
  const key = await keyOfCheckpoint(hub, read);
  return { manifest: openManifest(read, key), key };
}

import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { isSealed } from "#storage/encryption/open-manifest.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { isHomeOf } from "../profiles/homes-of.ts";
import type { Hub } from "../api/hub.ts";
import { unlockManifest } from "./key-of-checkpoint.ts";
import { sealingOfRun } from "../profiles/seal-keys.ts";

/**
 * Checks the encryption of a manifest before the hub commits it. A key of this profile must open it, and its encrypted
 * content must match the rest. Nothing may be plain where encryption is required. A checkpoint that nobody could open must
 * never count as safe. @returns the manifest with the names of its files @throws Fault BAD_INPUT, SEAL_KEY_MISSING,
 * SEAL_REQUIRED
 */
export async function checkSealed(hub: Hub, manifest: Manifest, checkpoint: Checkpoint): Promise<Manifest> {
  const refuse = (detail: string) => new Fault("BAD_INPUT", { op: "commit", subject: "manifest", detail });
  if (!isSealed(manifest)) {
    const isWanted = (await sealingOfRun(hub, checkpoint)) !== "off";
    if (checkpoint.sealKeyId !== null && isWanted) throw refuse("it was announced as encrypted");
    if (isWanted) throw await sealRequired(hub, { op: "commit", profileId: checkpoint.profileId });
    return manifest;
  }
  const key = await hub.db.sealKey.findUnique({ where: { id: manifest.transform.keyId } });
  if (key === null || !(await isKeyOfRun(hub, key, checkpoint)))
    throw refuse("it is encrypted for another bucket's key");
  try {
    const { manifest: opened } = await unlockManifest(hub, manifest);
    return {
      ...manifest,
      files: manifest.files.map((file, at) => ({ ...file, path: opened.files[at]?.path ?? file.path })),
    };
  } catch (error) {
    if (isFault(error) && error.code === "SEAL_BROKEN") throw refuse("it does not open with the key of its bucket");
    throw error;
  }
}

/** Returns whether the key belongs to the bucket of the checkpoint, or to another home of the run. */
async function isKeyOfRun(
  hub: Hub,
  key: { profileId: string },
  about: { run: string; profileId: string },
): Promise<boolean> {
  return key.profileId === about.profileId || (await isHomeOf(hub.db, about.run, key.profileId));
}

/**
 * Refuses an announcement without encryption where it is required, so that no plain byte reaches the bucket. @throws Fault
 * SEAL_REQUIRED, BAD_INPUT
 */
export async function requireSealed(
  hub: Hub,
  about: { run: string; profileId: string; sealKeyId: string | null },
): Promise<void> {
  const { run, profileId, sealKeyId } = about;
  if (sealKeyId !== null) {
    const key = await hub.db.sealKey.findUnique({ where: { id: sealKeyId } });
    if (key === null || !(await isKeyOfRun(hub, key, { run, profileId }))) {
      throw new Fault("BAD_INPUT", { op: "announce", subject: "sealKeyId" });
    }
    return;
  }
  if ((await sealingOfRun(hub, { run, profileId })) === "off") return;
  throw await sealRequired(hub, { op: "announce", profileId });
}

async function sealRequired(hub: Hub, about: { op: string; profileId: string }): Promise<Fault> {
  const profile = await hub.db.profile.findUniqueOrThrow({ where: { id: about.profileId } });
  return new Fault("SEAL_REQUIRED", { op: about.op, subject: profile.name });
}

/**
 * Refuses a checkpoint that was announced as plain before encryption was switched on: the node starts over and encrypts it.
 * @throws Fault SEAL_REQUIRED
 */
export async function requireStillPlain(hub: Hub, checkpoint: Checkpoint): Promise<void> {
  if (checkpoint.sealKeyId !== null || (await sealingOfRun(hub, checkpoint)) === "off") return;
  throw await sealRequired(hub, { op: "sign", profileId: checkpoint.profileId });
}

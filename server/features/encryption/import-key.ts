import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { importSealKeyInput, SealingView } from "#protocol/checkpoint/sealing.ts";
import { audit } from "#server/core/api/audit.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { readExport } from "#storage/encryption/seal-key-text.ts";
import { sealKeyPlace } from "#server/signer/secret-place.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { nameHidden } from "./name-hidden.ts";
import { readSealing } from "#server/core/profiles/seal-keys.ts";

/**
 * Imports a key that an earlier hub exported, so that checkpoints encrypted with it open again. The key is used for new
 * checkpoints only where the profile has none yet.
 * @throws Fault NOT_FOUND, BAD_INPUT (no exported key, or one that was cut), CONFLICT (it is here already)
 */
export async function importSealKey(context: Context, input: z.infer<typeof importSealKeyInput>): Promise<SealingView> {
  const { hub, caller } = context;
  const { profileId, text } = input;
  const row = await hub.db.profile.findUnique({ where: { id: profileId } });
  if (row === null) throw new Fault("NOT_FOUND", { subject: "this bucket profile" });
  const { keyId: id } = readExport(text);
  const there = await hub.db.sealKey.findUnique({ where: { id } });
  if (there !== null) throw new Fault("CONFLICT", { op: "import the key", detail: "this hub has it already" });
  const { publicKey, ...sealed } = await hub.signer.importSealKey({ place: sealKeyPlace(id), text });
  const at = new Date(hub.now());
  const event = await hub.db.$transaction(async (tx) => {
    // The export from which the key comes still exists, so the key counts as exported.
    const known = { isImported: true, exportedAt: at, exportedBy: null };
    await tx.sealKey.create({ data: { id, profileId, publicKey, createdAt: at, ...known } });
    await tx.sealKeySecret.create({ data: { keyId: id, ...sealed, updatedAt: at } });
    await tx.profile.updateMany({ where: { id: profileId, sealKeyId: null }, data: { sealKeyId: id } });
    await audit({ db: tx, now: hub.now }, caller, { action: "import key", subject: row.name, subjectId: id });
    const said = `An encryption key of ${row.name} was imported`;
    return recordEvent(tx, { at: hub.now(), kind: "profile-changed", work: "safe", text: said });
  });
  await nameHidden(hub, id);
  hub.live.profileChanged(profileId, row.name);
  emit(hub, event, ["profiles", "checkpoints"]);
  return readSealing(hub, { id: profileId });
}

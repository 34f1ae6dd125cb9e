import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { setSealingInput, SealingView } from "#protocol/checkpoint/sealing.ts";
import { audit } from "#server/core/api/audit.ts";
import { refuseSealingOfPieces } from "#server/core/runs/require-joinable.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { sealKeyPlace } from "#server/signer/secret-place.ts";
import { newId } from "#server/platform/random-id.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { readSealing } from "#server/core/profiles/seal-keys.ts";

/** Text of the events. */
const WORDS = {
  off: "is off: new checkpoints lie in the bucket as they are",
  content: "is on: new checkpoints can be read with their key only",
  names: "is on, names of files too: new checkpoints can be read with their key only",
} as const;

/**
 * Switches encryption of new checkpoints on or off, and makes a key the first time. Older checkpoints stay as they are, and
 * open with the key they were written with. Nodes are told at once.
 * @throws Fault NOT_FOUND, BAD_INPUT when several nodes write pieces to the bucket now, or when encryption is switched on
 * without the confirmation that a lost key means lost checkpoints
 */
export async function setSealing(context: Context, input: z.infer<typeof setSealingInput>): Promise<SealingView> {
  const { hub } = context;
  const { id, sealing, understood } = input;
  const before = await hub.db.profile.findUnique({ where: { id } });
  if (before === null) throw new Fault("NOT_FOUND", { subject: "this bucket profile" });
  if (sealing !== "off" && before.sealing === "off" && !understood) {
    const detail = "say that you understood: whoever loses this hub and the exported key loses the checkpoints";
    throw new Fault("BAD_INPUT", { op: "encryption", subject: "understood", detail });
  }
  if (sealing !== "off") await refuseSealingOfPieces(hub, id);
  if (sealing !== "off" && before.sealKeyId === null) await makeKey(context, { profileId: id });
  await hub.db.profile.update({ where: { id }, data: { sealing } });
  await tell(context, { id, name: before.name, action: `encryption ${sealing}`, text: WORDS[sealing] });
  return readSealing(hub, { id });
}

/**
 * Makes a new key for new checkpoints. Earlier keys stay, because what was encrypted with them opens with nothing else.
 * @throws Fault NOT_FOUND
 */
export async function renewSealKey(context: Context, { id }: { id: string }): Promise<SealingView> {
  const { hub } = context;
  const row = await hub.db.profile.findUnique({ where: { id } });
  if (row === null) throw new Fault("NOT_FOUND", { subject: "this bucket profile" });
  await makeKey(context, { profileId: id });
  const text = "has a new key; those before are kept for what was written under them";
  await tell(context, { id, name: row.name, action: "new encryption key", text });
  return readSealing(hub, { id });
}

async function makeKey({ hub }: Context, { profileId }: { profileId: string }): Promise<void> {
  const id = newId();
  const { publicKey, ...sealed } = await hub.signer.makeSealKey({ place: sealKeyPlace(id) });
  const at = new Date(hub.now());
  await hub.db.$transaction([
    hub.db.sealKey.create({ data: { id, profileId, publicKey, createdAt: at } }),
    hub.db.sealKeySecret.create({ data: { keyId: id, ...sealed, updatedAt: at } }),
    hub.db.profile.update({ where: { id: profileId }, data: { sealKeyId: id } }),
  ]);
}

async function tell(
  context: Context,
  about: { id: string; name: string; action: string; text: string },
): Promise<void> {
  const { hub, caller } = context;
  const { id, name, action } = about;
  const text = `Encryption of ${name} ${about.text}`;
  const event = await recordEvent(hub.db, { at: hub.now(), kind: "profile-changed", work: "safe", text });
  hub.live.profileChanged(id, name);
  await refreshWriters(hub, id);
  await audit(hub, caller, { action, subject: name, subjectId: id });
  emit(hub, event, ["profiles"]);
}

/** Tells the writers of runs with a replica in this bucket: such a run is encrypted if any of its buckets demands it. */
async function refreshWriters(hub: Hub, profileId: string): Promise<void> {
  for (const { run } of await hub.db.runHome.findMany({ where: { profileId }, select: { run: true } })) {
    hub.live.refreshWriter(run);
  }
}

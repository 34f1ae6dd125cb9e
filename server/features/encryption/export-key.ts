import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { exportSealKeyInput, SealKeyExport } from "#protocol/checkpoint/sealing.ts";
import { countGuess, forgetGuesses } from "#server/core/accounts/auth/count-guess.ts";
import { hashTerms, passwordFits } from "#server/core/accounts/auth/password.ts";
import { audit } from "#server/core/api/audit.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { sealKeyPlace } from "#server/signer/secret-place.ts";
import type { Context } from "#server/core/api/trpc.ts";
import type { SessionCaller } from "#server/core/api/caller.ts";

/**
 * Exports the private half of a wrapping key as text, for an admin who enters the password again: an open session is not
 * enough. The export is audited and an event tells everybody before it is shown. Wrong passwords count like failed sign-ins.
 * @throws Fault TOO_MANY_TRIES, PASSWORD_WRONG, NOT_FOUND
 */
export async function exportSealKey(
  context: Context & { caller: SessionCaller },
  { profileId, keyId, password }: z.infer<typeof exportSealKeyInput>,
): Promise<SealKeyExport> {
  const { hub, caller } = context;
  const { id, email } = caller.person;
  await countGuess(context, email);
  const user = await hub.db.user.findUnique({ where: { id } });
  if (!(await passwordFits(password, user?.passwordHash ?? null, hashTerms(context))))
    throw new Fault("PASSWORD_WRONG");
  forgetGuesses(context, email);
  const found = await hub.db.sealKey.findUnique({ where: { id: keyId }, include: { secret: true, profile: true } });
  if (found === null || found.profileId !== profileId || found.secret === null) {
    throw new Fault("NOT_FOUND", { subject: "this key" });
  }
  const { name } = found.profile;
  const event = await hub.db.$transaction(async (tx) => {
    await tx.sealKey.update({ where: { id: keyId }, data: { exportedAt: new Date(hub.now()), exportedBy: email } });
    await audit({ db: tx, now: hub.now }, caller, { action: "export key", subject: name, subjectId: keyId });
    const text = `A copy of the encryption key of ${name} was taken by ${email}`;
    return recordEvent(tx, { at: hub.now(), kind: "profile-changed", work: "safe", text });
  });
  emit(hub, event, ["profiles"]);
  return hub.signer.exportSealKey({ place: sealKeyPlace(keyId), sealed: found.secret.sealed });
}

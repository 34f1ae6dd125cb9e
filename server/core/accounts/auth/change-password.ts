import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { changePasswordInput } from "#protocol/fleet/people.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { countGuess, forgetGuesses } from "./count-guess.ts";
import { hashPassword, hashTerms, passwordFits } from "./password.ts";
import type { SessionCaller } from "../../api/caller.ts";

/**
 * Changes the password of the caller's own account and ends its other sessions. Guesses of the old password in an open
 * session count like guesses at sign-in. @throws Fault TOO_MANY_TRIES, PASSWORD_WRONG
 */
export async function changePassword(
  context: Context & { caller: SessionCaller },
  input: z.infer<typeof changePasswordInput>,
): Promise<{ ok: true }> {
  const { hub, caller } = context;
  const { id, email } = caller.person;
  await countGuess(context, email);
  const user = await hub.db.user.findUnique({ where: { id } });
  if (!(await passwordFits(input.old, user?.passwordHash ?? null, hashTerms(context))))
    throw new Fault("PASSWORD_WRONG");
  forgetGuesses(context, email);
  const passwordHash = await hashPassword(input.password, hashTerms(context));
  await hub.db.$transaction(async (tx) => {
    await tx.user.update({ where: { id }, data: { passwordHash } });
    await tx.session.deleteMany({ where: { userId: id, hash: { not: caller.sessionHash } } });
    // Revokes unused reset links, for example in an old mail.
    await tx.oneTimeCode.updateMany({
      where: { userId: id, kind: "reset", usedAt: null, revokedAt: null },
      data: { revokedAt: new Date(hub.now()) },
    });
    await audit({ db: tx, now: hub.now }, caller, { action: "change password", subject: email, subjectId: id });
  });
  hub.live.endSession();
  return { ok: true };
}

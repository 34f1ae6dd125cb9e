import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { takeCodeInput } from "#protocol/fleet/people.ts";
import { role } from "#protocol/wire/requests.ts";
import type { HubStatus, Person } from "#protocol/wire/views.ts";
import { forgetGuesses } from "../auth/count-guess.ts";
import { noteRefusal } from "../auth/refusals.ts";
import { hashPassword, hashTerms } from "../auth/password.ts";
import { welcome } from "../auth/welcome.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { FREE_CODE_TRIES } from "./accept-invitation.ts";
import { goodCode } from "./codes.ts";

/**
 * Sets a new password for the account of a reset link, ends all its sessions and signs in. @throws Fault TOO_MANY_TRIES,
 * CODE_REFUSED, ACCOUNT_DISABLED
 */
export async function resetPassword(context: Context, input: z.infer<typeof takeCodeInput>): Promise<HubStatus> {
  const { hub, address } = context;
  hub.throttle.take(`code:${address}`, FREE_CODE_TRIES);
  const asked = { code: input.code, kind: "reset" as const, now: hub.now() };
  await goodCode(hub.db, asked).catch(async (error: unknown) => {
    await noteRefusal(hub, { by: "code", address });
    throw error;
  });
  const passwordHash = await hashPassword(input.password, hashTerms(context));
  const person = await hub.db.$transaction(async (tx) => {
    const row = await goodCode(tx, asked);
    const user = row.userId === null ? null : await tx.user.findUnique({ where: { id: row.userId } });
    if (user === null) throw new Fault("CODE_REFUSED");
    if (user.disabledAt !== null) throw new Fault("ACCOUNT_DISABLED");
    await tx.oneTimeCode.update({ where: { id: row.id }, data: { usedAt: new Date(hub.now()) } });
    await tx.user.update({ where: { id: user.id }, data: { passwordHash } });
    await tx.session.deleteMany({ where: { userId: user.id } });
    const found: Person = { id: user.id, email: user.email, role: role.parse(user.role) };
    const caller = { kind: "person" as const, person: found, sessionHash: "" };
    const about = { action: "use password reset", subject: user.email, subjectId: user.id, address };
    await audit({ db: tx, now: hub.now }, caller, about);
    return found;
  });
  hub.throttle.clear(`code:${address}`);
  // A person who forgot the password has likely guessed often before.
  forgetGuesses(context, person.email);
  hub.live.endSession();
  return welcome(context, person);
}

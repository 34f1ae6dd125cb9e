import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import { role, type signInInput } from "#protocol/wire/requests.ts";
import type { HubStatus } from "#protocol/wire/views.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { audit } from "#server/core/api/audit.ts";
import { countGuess, forgetGuesses } from "./count-guess.ts";
import { hashTerms, passwordFits } from "./password.ts";
import { noteRefusal } from "./refusals.ts";
import { welcome } from "./welcome.ts";

/**
 * Signs a person in with a new session. An unknown address takes as long as a wrong password and gets the same answer.
 * @throws Fault TOO_MANY_TRIES, SIGN_IN_FAILED, ACCOUNT_DISABLED
 */
export async function signIn(context: Context, input: z.infer<typeof signInInput>): Promise<HubStatus> {
  const { hub } = context;
  const email = input.email.trim().toLowerCase();
  await countGuess(context, email);
  const user = await hub.db.user.findUnique({ where: { email } });
  const fits = await passwordFits(input.password, user?.passwordHash ?? null, hashTerms(context));
  if (user === null || !fits) {
    await noteRefusal(hub, { by: "password", address: context.address, account: { email, id: user?.id ?? null } });
    throw new Fault("SIGN_IN_FAILED");
  }
  // Only a caller with the correct password learns this.
  if (user.disabledAt !== null) throw new Fault("ACCOUNT_DISABLED");
  forgetGuesses(context, email);
  const person = { id: user.id, email: user.email, role: role.parse(user.role) };
  const caller = { kind: "person" as const, person, sessionHash: "" };
  const about = { action: "sign in", subject: user.email, subjectId: user.id, address: context.address };
  await audit(hub, caller, about);
  return welcome(context, person);
}

import type * as z from "zod";
import { Fault } from "#protocol/fault.ts";
import { role, type signInInput } from "#protocol/requests.ts";
import type { HubStatus } from "#protocol/views.ts";
import type { Context } from "../trpc.ts";
import { audit } from "../events/audit.ts";
import { passwordFits } from "./password.ts";
import { welcome } from "./welcome.ts";

export const FREE_TRIES_PER_ACCOUNT = 5;
const FREE_TRIES_PER_ADDRESS = 20;

/**
 * Signs a person in with a new session. An unknown address takes as long as a wrong password and gives the same answer.
 * @throws Fault TOO_MANY_TRIES, SIGN_IN_FAILED, ACCOUNT_DISABLED
 */
export async function signIn(context: Context, input: z.infer<typeof signInInput>): Promise<HubStatus> {
  const { hub } = context;
  const email = input.email.trim().toLowerCase();
  hub.throttle.take(`address:${context.address}`, FREE_TRIES_PER_ADDRESS);
  hub.throttle.take(`account:${email}`, FREE_TRIES_PER_ACCOUNT);
  const user = await hub.db.user.findUnique({ where: { email } });
  const fits = await passwordFits(input.password, user?.passwordHash ?? null, hub.passwordCost);
  if (user === null || !fits) throw new Fault("SIGN_IN_FAILED");
  // Only whoever knows the password learns this.
  if (user.disabledAt !== null) throw new Fault("ACCOUNT_DISABLED");
  hub.throttle.clear(`account:${email}`);
  hub.throttle.clear(`address:${context.address}`);
  const person = { id: user.id, email: user.email, role: role.parse(user.role) };
  const caller = { kind: "person" as const, person, sessionHash: "" };
  const about = { action: "sign in", subject: user.email, subjectId: user.id, address: context.address };
  await audit(hub, caller, about);
  return welcome(context, person);
}

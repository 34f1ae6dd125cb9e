import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { takeCodeInput } from "#protocol/fleet/people.ts";
import { role } from "#protocol/wire/requests.ts";
import type { HubStatus, Person } from "#protocol/wire/views.ts";
import { noteRefusal } from "../auth/refusals.ts";
import { hashPassword, hashTerms } from "../auth/password.ts";
import { welcome } from "../auth/welcome.ts";
import { audit } from "#server/core/api/audit.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { newId } from "#server/platform/random-id.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { goodCode } from "./codes.ts";

export const FREE_CODE_TRIES = 10;

/**
 * Creates the account of an invitation and signs in. Only one of two concurrent uses of a link succeeds. @throws Fault
 * TOO_MANY_TRIES, CODE_REFUSED, CONFLICT
 */
export async function acceptInvitation(context: Context, input: z.infer<typeof takeCodeInput>): Promise<HubStatus> {
  const { hub, address } = context;
  hub.throttle.take(`code:${address}`, FREE_CODE_TRIES);
  const asked = { code: input.code, kind: "invitation" as const, now: hub.now() };
  // The code is checked first, so that a stranger's guess does not cost a password hash.
  await goodCode(hub.db, asked).catch(async (error: unknown) => {
    await noteRefusal(hub, { by: "code", address });
    throw error;
  });
  const passwordHash = await hashPassword(input.password, hashTerms(context));
  const { person, event } = await hub.db.$transaction(async (tx) => {
    const row = await goodCode(tx, asked);
    const { email } = row;
    const known = await tx.user.findUnique({ where: { email } });
    if (known !== null)
      throw new Fault("CONFLICT", { subject: email, detail: "there is an account with this address" });
    const created: Person = { id: newId(), email, role: role.parse(row.role) };
    const at = new Date(hub.now());
    await tx.user.create({ data: { ...created, passwordHash, createdAt: at, disabledAt: null } });
    await tx.oneTimeCode.update({ where: { id: row.id }, data: { usedAt: at, userId: created.id } });
    const caller = { kind: "person" as const, person: created, sessionHash: "" };
    const about = { action: "accept invitation", subject: email, subjectId: created.id, address };
    await audit({ db: tx, now: hub.now }, caller, about);
    const text = `${email} joined as ${created.role}`;
    const event = await recordEvent(tx, { at: hub.now(), kind: "account-created", work: "safe", text });
    return { person: created, event };
  });
  hub.throttle.clear(`code:${address}`);
  emit(hub, event, ["account"]);
  return welcome(context, person);
}

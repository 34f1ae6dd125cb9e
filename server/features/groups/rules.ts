import type * as z from "zod";
import type { removeRuleInput, setRuleInput } from "#protocol/groups/groups.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { emit } from "#server/core/events/record-event.ts";
import { newId } from "#server/platform/random-id.ts";
import { findAccount } from "./open-provider.ts";

/** Sets the rule of a group, for one that the provider does not know yet too. @throws Fault NOT_FOUND */
export async function setRule(
  context: Pick<Context, "hub" | "caller">,
  input: z.infer<typeof setRuleInput>,
): Promise<{ ok: true }> {
  const { hub } = context;
  const { accountId, group: groupName, queue, limits, isEnabled } = input;
  const account = await findAccount(hub, accountId);
  const data = { queue, ...limits, isEnabled, lowerSince: null, fault: null, goneAt: null };
  const where = { accountId_groupName: { accountId, groupName } };
  await hub.db.groupRule.upsert({ where, update: data, create: { id: newId(), accountId, groupName, ...data } });
  // Applied in the next moments.
  hub.groups.roundAt.delete(accountId);
  const { min, max } = limits;
  const words = isEnabled ? `${min} to ${max} by queue ${queue}` : "off";
  await audit(hub, context.caller, { action: "set group rule", subject: `${account.name}/${groupName}: ${words}` });
  emit(hub, null, ["groups"]);
  return { ok: true };
}

/** Removes the rule of a group, which stays as it is. @throws Fault NOT_FOUND */
export async function removeRule(
  context: Pick<Context, "hub" | "caller">,
  input: z.infer<typeof removeRuleInput>,
): Promise<{ ok: true }> {
  const { hub } = context;
  const { accountId, group: groupName } = input;
  const account = await findAccount(hub, accountId);
  const { count } = await hub.db.groupRule.deleteMany({ where: { accountId, groupName } });
  if (count === 0) throw new Fault("NOT_FOUND", { subject: "this rule" });
  await audit(hub, context.caller, { action: "remove group rule", subject: `${account.name}/${groupName}` });
  emit(hub, null, ["groups"]);
  return { ok: true };
}

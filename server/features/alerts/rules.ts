import type * as z from "zod";
import type { createRuleInput, muteInput, updateRuleInput } from "#protocol/alerts/alerts.ts";
import { rankOf } from "#protocol/alerts/severities.ts";
import type { RuleView } from "#protocol/alerts/alert-views.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { audit } from "#server/core/api/audit.ts";
import { emit } from "#server/core/events/record-event.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { newId } from "#server/platform/random-id.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { liveRuleOf } from "./alert-memory.ts";
import { columnsOf, defaultChannels } from "./default-rules.ts";
import { ALERTS_LOCK, resolveAlerts } from "./evaluate.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";
import type { LiveRule } from "#server/core/api/ports/alert-memory.ts";

/** Lists and changes alert rules. Each change is written to the database first and then to memory, under one lock. */

/** Returns the rules, gravest first, then in order of creation. */
export async function listRules(hub: Hub): Promise<RuleView[]> {
  const rows = await hub.db.alertRule.findMany({
    where: { removedAt: null },
    orderBy: [{ createdAt: "asc" }, { id: "asc" }],
  });
  const firing = new Map<string, number>();
  for (const { ruleId } of hub.alerts.open.values()) firing.set(ruleId, (firing.get(ruleId) ?? 0) + 1);
  const views = rows.map((row) => {
    const { id, version, mutedUntil, muteReason, mutedBy, toldAt, ...rule } = liveRuleOf(row);
    const mute = { mutedUntil, muteReason, mutedBy };
    return { id, version, rule, ...mute, toldAt, firing: firing.get(id) ?? 0, updatedAt: row.updatedAt.getTime() };
  });
  return views.toSorted((a, b) => rankOf(a.rule.severity) - rankOf(b.rule.severity));
}

async function refuseUnknownChannels(hub: Hub, ids: readonly string[]): Promise<void> {
  const known = await hub.db.alertChannel.count({ where: { id: { in: [...ids] } } });
  if (known !== new Set(ids).size) throw new Fault("NOT_FOUND", { subject: "a channel of the rule" });
}

/** Adds a rule. @throws Fault NOT_FOUND for a channel that does not exist */
export const createRule = (context: Context, input: z.infer<typeof createRuleInput>): Promise<{ id: string }> =>
  context.hub.locks.run(ALERTS_LOCK, async () => {
    const { hub } = context;
    const rule = { ...input.rule, channelIds: input.rule.channelIds ?? (await defaultChannels(hub.db)) };
    await refuseUnknownChannels(hub, rule.channelIds);
    const at = new Date(hub.now());
    const id = newId();
    const row = await hub.db.alertRule.create({
      data: { id, version: 1, ...columnsOf(rule), createdAt: at, updatedAt: at },
    });
    hub.alerts.rules.set(id, liveRuleOf(row));
    await audit(hub, context.caller, { action: "add alert rule", subject: rule.name });
    emit(hub, null, ["alerts"]);
    return { id };
  });

/** Changes a rule. @throws Fault NOT_FOUND, CONFLICT when it was changed in the meantime or its kind differs */
export const updateRule = (context: Context, input: z.infer<typeof updateRuleInput>): Promise<{ ok: true }> =>
  context.hub.locks.run(ALERTS_LOCK, async () => {
    const { hub } = context;
    const { id, version, rule } = input;
    const before = mustGet(hub, id);
    await refuseUnknownChannels(hub, rule.channelIds);
    if (before.condition.kind !== rule.condition.kind) {
      const detail = "a rule keeps its kind; add another rule instead";
      throw new Fault("CONFLICT", { subject: before.name, detail });
    }
    const { count } = await hub.db.alertRule.updateMany({
      where: { id, version, removedAt: null },
      data: { version: version + 1, ...columnsOf(rule), updatedAt: new Date(hub.now()) },
    });
    if (count === 0) throw new Fault("CONFLICT", { subject: before.name });
    hub.alerts.rules.set(id, { ...before, ...rule, version: version + 1 });
    await audit(hub, context.caller, { action: "change alert rule", subject: rule.name });
    emit(hub, null, ["alerts"]);
    return { ok: true };
  });

/** Removes a rule and resolves its alerts without a message. @throws Fault NOT_FOUND */
export const removeRule = (context: Context, { id }: { id: string }): Promise<{ ok: true }> =>
  context.hub.locks.run(ALERTS_LOCK, async () => {
    const { hub } = context;
    const { name } = mustGet(hub, id);
    await hub.db.alertRule.update({ where: { id }, data: { removedAt: new Date(hub.now()), isEnabled: false } });
    hub.alerts.rules.delete(id);
    const keys = [...hub.alerts.open.values()].filter(({ ruleId }) => ruleId === id).map(({ key }) => key);
    await resolveAlerts(hub, keys, { isTold: false });
    await audit(hub, context.caller, { action: "remove alert rule", subject: name });
    emit(hub, null, ["alerts"]);
    return { ok: true };
  });

/**
 * Mutes one rule, or all rules when `ruleId` is null; `forMs` 0 unmutes. Alerts that still fire later are sent then.
 * @throws Fault NOT_FOUND
 */
export const muteRules = (
  context: Context & { caller: PersonCaller },
  input: z.infer<typeof muteInput>,
): Promise<{ mutedUntil: number | null }> =>
  context.hub.locks.run(ALERTS_LOCK, async () => {
    const { hub } = context;
    const { ruleId, forMs, reason } = input;
    const rules = ruleId === null ? [...hub.alerts.rules.values()] : [mustGet(hub, ruleId)];
    const mutedUntil = forMs === 0 ? null : hub.now() + forMs;
    const mute =
      mutedUntil === null
        ? { muteReason: "", mutedBy: "" }
        : { muteReason: reason, mutedBy: context.caller.person.email };
    await hub.db.alertRule.updateMany({
      where: { id: { in: rules.map(({ id }) => id) } },
      data: { ...mute, mutedUntil: mutedUntil === null ? null : new Date(mutedUntil) },
    });
    for (const rule of rules) Object.assign(rule, mute, { mutedUntil });
    const subject = ruleId === null ? "all rules" : (rules[0]?.name ?? "");
    await audit(hub, context.caller, { action: forMs === 0 ? "unmute alerts" : "mute alerts", subject });
    emit(hub, null, ["alerts"]);
    return { mutedUntil };
  });

function mustGet(hub: Hub, id: string): LiveRule {
  const rule = hub.alerts.rules.get(id);
  if (rule === undefined) throw new Fault("NOT_FOUND", { subject: "this alert rule" });
  return rule;
}

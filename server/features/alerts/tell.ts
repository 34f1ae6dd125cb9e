import { isQuiet } from "#protocol/alerts/alerts.ts";
import { GROUP_EVERY_MS, GROUP_WAIT_MS } from "#protocol/alerts/alert-words.ts";
import { rankOf } from "#protocol/alerts/severities.ts";
import type { AlertMessage } from "#protocol/alerts/alert-views.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { adviseContinue } from "#server/core/runs/advise-continue.ts";
import { newId } from "#server/platform/random-id.ts";
import type { LiveRule, OpenAlert } from "#server/core/api/ports/alert-memory.ts";
import { composeMessage } from "./compose-message.ts";

/**
 * Writes messages about new and ended alerts into the outbox, in the transaction that marks the alerts as announced. Alerts
 * that fire at about the same time share one message. The first message of a rule waits briefly and the next one longer, so
 * that an outage of the whole fleet is one message. Returns how many messages were written.
 */
export async function tell(hub: Hub): Promise<number> {
  const { alerts: memory } = hub;
  const fresh = byRule(memory.open.values().filter(({ isTold, isAcknowledged }) => !isTold && !isAcknowledged));
  const ended = byRule(memory.ended);
  if (fresh.size + ended.size === 0) return 0;
  const channels = await hub.db.alertChannel.findMany({ where: { isEnabled: true }, select: { id: true } });
  const known = new Set(channels.map(({ id }) => id));
  let written = 0;
  const rankOfRule = (ruleId: string): number => rankOf(memory.rules.get(ruleId)?.severity ?? "info");
  const ruleIds = [...new Set([...fresh.keys(), ...ended.keys()])].toSorted((a, b) => rankOfRule(a) - rankOfRule(b));
  for (const ruleId of ruleIds) {
    const rule = memory.rules.get(ruleId);
    const to = rule?.channelIds.filter((id) => known.has(id)) ?? [];
    written += await tellRule(hub, {
      ruleId,
      rule,
      to,
      fresh: fresh.get(ruleId) ?? [],
      ended: ended.get(ruleId) ?? [],
    });
  }
  return written;
}

function byRule(alerts: Iterable<OpenAlert>): Map<string, OpenAlert[]> {
  const groups = new Map<string, OpenAlert[]>();
  for (const alert of alerts) {
    const group = groups.get(alert.ruleId);
    if (group === undefined) groups.set(alert.ruleId, [alert]);
    else group.push(alert);
  }
  return groups;
}

interface News {
  ruleId: string;
  rule: LiveRule | undefined;
  to: readonly string[];
  fresh: readonly OpenAlert[];
  ended: readonly OpenAlert[];
}

async function tellRule(hub: Hub, { ruleId, rule, to, fresh, ended }: News): Promise<number> {
  const now = hub.now();
  if (rule === undefined || !rule.isEnabled || to.length === 0) {
    // Nobody receives a message, so the ends need none either.
    await forgetEnds(hub, ruleId, ended);
    return 0;
  }
  if (rule.mutedUntil !== null && now < rule.mutedUntil) return 0;
  if (rule.severity !== "critical" && isQuiet(rule.quiet, now)) return 0;
  const isReady = rule.toldAt === null || now - rule.toldAt >= GROUP_EVERY_MS;
  const oldest = Math.min(...fresh.map(({ firedAt }) => firedAt));
  const tellsFresh = fresh.length > 0 && isReady && now - oldest >= GROUP_WAIT_MS;
  const tellsEnd = ended.length > 0 && isReady;
  const remaining = [...hub.alerts.open.values()].filter(
    (alert) => alert.ruleId === ruleId && (alert.isTold || (tellsFresh && !alert.isAcknowledged)),
  ).length;
  const about = { rule, remaining };
  const advice = tellsFresh ? await adviceFor(hub, fresh) : null;
  const messages = [
    ...(tellsFresh ? [composeMessage(hub, { ...about, kind: "firing", alerts: fresh, advice })] : []),
    ...(tellsEnd ? [composeMessage(hub, { ...about, kind: "resolved", alerts: ended, advice: null })] : []),
  ];
  if (messages.length === 0) return 0;
  const at = new Date(now);
  await hub.db.$transaction(
    async (tx) => {
      await tx.alertMessage.createMany({
        data: to.flatMap((id) => messages.map((body, order) => rowOf(id, body, new Date(now + order)))),
      });
      await tx.alertRule.update({ where: { id: ruleId }, data: { toldAt: at } });
      if (tellsFresh) {
        const where = { ruleId, openKey: { not: null }, toldAt: null, acknowledgedAt: null };
        await tx.alert.updateMany({ where, data: { toldAt: at } });
      }
      if (tellsEnd) {
        const where = { ruleId, openKey: null, toldAt: { not: null }, toldEndAt: null };
        await tx.alert.updateMany({ where, data: { toldEndAt: at } });
      }
    },
    { timeout: 30_000 },
  );
  hub.live.mayAlertsWait = true;
  rule.toldAt = now;
  if (tellsFresh) for (const alert of fresh) alert.isTold = true;
  if (tellsEnd) hub.alerts.ended = hub.alerts.ended.filter((alert) => alert.ruleId !== ruleId);
  return messages.length;
}

/** Returns the advice for a message about one silent node; null for other messages, without a query. */
async function adviceFor(hub: Hub, alerts: readonly OpenAlert[]): Promise<string | null> {
  const [first] = alerts;
  if (alerts.length !== 1 || first?.kind !== "silent" || first.nodeId === null) return null;
  return (await adviseContinue(hub, { nodeIds: [first.nodeId] })).get(first.nodeId)?.text ?? null;
}

async function forgetEnds(hub: Hub, ruleId: string, ended: readonly OpenAlert[]): Promise<void> {
  if (ended.length === 0) return;
  const where = { ruleId, openKey: null, toldAt: { not: null }, toldEndAt: null };
  await hub.db.alert.updateMany({ where, data: { toldEndAt: new Date(hub.now()) } });
  hub.alerts.ended = hub.alerts.ended.filter((alert) => alert.ruleId !== ruleId);
}

/** Returns an outbox row. Its id is the idempotency key. */
export const rowOf = (channelId: string, body: AlertMessage, at: Date) => ({
  id: newId(),
  channelId,
  body: JSON.stringify(body),
  rank: rankOf(body.severity),
  state: "waiting",
  tries: 0,
  nextAt: at,
  createdAt: at,
});

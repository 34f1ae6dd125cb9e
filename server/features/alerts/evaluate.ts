import type { Hub } from "#server/core/api/hub.ts";
import { newId } from "#server/platform/random-id.ts";
import { openKeyOf } from "./alert-memory.ts";
import { findLive, LIVE_KINDS, type Finding } from "./find-live.ts";
import { findStored } from "./find-stored.ts";
import { settle } from "./settle.ts";
import { tell } from "./tell.ts";
import type { LiveRule, OpenAlert } from "#server/core/api/ports/alert-memory.ts";

/** Serializes all changes of rules and alerts. */
export const ALERTS_LOCK = "alerts";

/**
 * Evaluates every rule once. Fires alerts whose condition has held long enough, resolves those that are over, and puts messages
 * into the outbox. A rule whose evaluation fails keeps its alerts as they are.
 */
export const evaluate = (hub: Hub): Promise<void> =>
  hub.locks.run(ALERTS_LOCK, async () => {
    const { alerts: memory, live, log } = hub;
    const now = hub.now();
    const found = findLive({ live, memory, now });
    let changed = 0;
    for (const rule of memory.rules.values()) {
      try {
        const ofRule = rule.isEnabled ? (found.get(rule.id) ?? (await findStored(hub, rule)) ?? []) : [];
        changed += await settleRule(hub, rule, ofRule);
      } catch (error) {
        log.error({ error, rule: rule.id }, "an alert rule could not be looked at");
      }
    }
    changed += await tell(hub);
    if (changed > 0) live.markStale(["alerts"]);
  });

/** Returns how many alerts changed. */
async function settleRule(hub: Hub, rule: LiveRule, found: readonly Finding[]): Promise<number> {
  const { alerts: memory, live } = hub;
  const now = hub.now();
  const isLive = LIVE_KINDS.has(rule.condition.kind);
  const isUnknown = (nodeId: string) => {
    const node = live.nodes.get(nodeId);
    if (!isLive || !rule.isEnabled || node === undefined) return false;
    return node.revokedAt === null && node.leftAt === null && (node.lastSeenAt ?? 0) < hub.startedAt;
  };
  const { fire, resolve } = settle(memory, { rule, found, now, isUnknown });
  const fired = fire.map((finding) => alertOf(rule, finding, now));
  if (fired.length > 0) {
    await hub.db.alert.createMany({
      data: fired.map((alert) => ({
        id: alert.id,
        ruleId: rule.id,
        openKey: alert.key,
        severity: rule.severity,
        nodeId: alert.nodeId,
        nodeName: alert.nodeName,
        run: alert.run,
        text: alert.text,
        since: new Date(alert.since),
        firedAt: new Date(now),
      })),
    });
    for (const alert of fired) memory.open.set(alert.key, alert);
  }
  await resolveAlerts(hub, resolve, { isTold: rule.isEnabled });
  return fired.length + resolve.length;
}

const CHUNK = 500;

/** Resolves alerts by their keys. `isTold`: announces the end where the beginning was announced. */
export async function resolveAlerts(hub: Hub, keys: readonly string[], about: { isTold: boolean }): Promise<void> {
  const { alerts: memory } = hub;
  const at = new Date(hub.now());
  for (let from = 0; from < keys.length; from += CHUNK) {
    const chunk = keys.slice(from, from + CHUNK).flatMap((key) => memory.open.get(key) ?? []);
    for (const { key, text } of chunk.length <= 50 ? chunk : []) {
      await hub.db.alert.updateMany({ where: { openKey: key }, data: { text } });
    }
    await hub.db.alert.updateMany({
      where: { openKey: { in: chunk.map(({ key }) => key) } },
      data: { openKey: null, resolvedAt: at, ...(about.isTold ? {} : { toldEndAt: at }) },
    });
    for (const alert of chunk) {
      memory.open.delete(alert.key);
      memory.clearing.delete(alert.key);
      if (alert.isTold && about.isTold) memory.ended.push(alert);
    }
  }
}

const MOST_TEXT = 500;

const alertOf = (rule: LiveRule, finding: Finding, now: number): OpenAlert => ({
  id: newId(),
  key: openKeyOf(rule.id, finding.subject),
  ruleId: rule.id,
  kind: rule.condition.kind,
  nodeId: finding.nodeId,
  nodeName: finding.nodeName,
  run: finding.run,
  text: finding.text.slice(0, MOST_TEXT),
  since: finding.since,
  firedAt: now,
  isTold: false,
  isAcknowledged: false,
});

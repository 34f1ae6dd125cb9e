import * as z from "zod";
import { alertCondition, quietHours, severity, type AlertKind } from "#protocol/alerts/alerts.ts";
import { scope } from "#protocol/base/scope.ts";
import type { AlertRule } from "#prisma/client/client.ts";
import type { Database } from "#prisma/open.ts";
import { parseStored, readStored } from "#server/platform/stored-json.ts";
import type { AlertMemory, LiveRule, OpenAlert } from "#server/core/api/ports/alert-memory.ts";

export const openKeyOf = (ruleId: string, subject: string): string => `${ruleId} ${subject}`;

const msOf = (at: Date | null): number | null => at?.getTime() ?? null;

/**
 * Converts a stored rule. An unreadable rule fails neither the list nor the start of the hub. It is shown as unreadable, with
 * the default values of its kind, and stays off until somebody saves it again.
 */
export function liveRuleOf(row: AlertRule): LiveRule {
  const params = parseStored(row.params);
  const condition = alertCondition.safeParse({ ...(typeof params === "object" ? params : null), kind: row.kind });
  const parts = {
    scope: readStored(row.scope, scope),
    severity: severity.safeParse(row.severity).data,
    channelIds: readStored(row.channels, z.string().array()),
    quiet: readStored(row.quiet, quietHours),
  };
  const isWhole =
    condition.success &&
    typeof params === "object" &&
    parts.scope !== null &&
    parts.severity !== undefined &&
    parts.channelIds !== null &&
    (row.quiet === null || parts.quiet !== null);
  return {
    id: row.id,
    version: row.version,
    name: isWhole ? row.name : `${row.name} (cannot be read)`,
    condition:
      condition.data ?? alertCondition.safeParse({ kind: row.kind }).data ?? alertCondition.parse({ kind: "silent" }),
    scope: parts.scope ?? scope.parse({}),
    severity: parts.severity ?? "warning",
    channelIds: parts.channelIds ?? [],
    quiet: parts.quiet,
    isEnabled: isWhole && row.isEnabled,
    mutedUntil: msOf(row.mutedUntil),
    muteReason: row.muteReason,
    mutedBy: row.mutedBy,
    toldAt: msOf(row.toldAt),
  };
}

export async function loadAlerts(db: Database): Promise<AlertMemory> {
  const rows = await db.alertRule.findMany({
    where: { removedAt: null },
    orderBy: [{ createdAt: "asc" }, { id: "asc" }],
  });
  const alerts = await db.alert.findMany({
    where: { OR: [{ openKey: { not: null } }, { toldAt: { not: null }, toldEndAt: null }] },
    include: { rule: { select: { kind: true } } },
  });
  const memory: AlertMemory = {
    rules: new Map(rows.map((row) => [row.id, liveRuleOf(row)])),
    open: new Map(),
    pending: new Map(),
    clearing: new Map(),
    ended: [],
    progress: new Map(),
    sending: new Map(),
  };
  for (const row of alerts) {
    const alert: OpenAlert = {
      id: row.id,
      key: row.openKey ?? "",
      ruleId: row.ruleId,
      kind: row.rule.kind as AlertKind,
      nodeId: row.nodeId,
      nodeName: row.nodeName,
      run: row.run,
      text: row.text,
      since: row.since.getTime(),
      firedAt: row.firedAt.getTime(),
      isTold: row.toldAt !== null,
      isAcknowledged: row.acknowledgedAt !== null,
    };
    if (row.openKey === null) memory.ended.push(alert);
    else memory.open.set(row.openKey, alert);
  }
  return memory;
}

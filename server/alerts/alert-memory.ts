import { alertCondition, quietHours, severity, type AlertKind, type RuleDraft } from "#protocol/alerts.ts";
import { scope } from "#protocol/scope.ts";
import type { AlertRule } from "#prisma/client/client.ts";
import type { Database } from "#prisma/open.ts";

/**
 * What the evaluation of alerts remembers between two looks. Rules and what fires stand in the database as well and are
 * read again at a start; what is pending is in memory only, and begins anew.
 */
export interface AlertMemory {
  /** By id, without those that were removed. */
  rules: Map<string, LiveRule>;
  /** What fires, by rule and subject. */
  open: Map<string, OpenAlert>;
  /** Found true, not long enough: since when. */
  pending: Map<string, number>;
  /** Fires, and is not found true any more: since when. */
  clearing: Map<string, number>;
  /** Over, and somebody who was told that it fires was not told that. */
  ended: OpenAlert[];
  /** How far the transfers of each node were, and since when they are there. */
  progress: Map<string, { mark: string; since: number }>;
}

export interface LiveRule extends RuleDraft {
  id: string;
  version: number;
  mutedUntil: number | null;
  toldAt: number | null;
}

export interface OpenAlert {
  id: string;
  key: string;
  ruleId: string;
  kind: AlertKind;
  nodeId: string | null;
  nodeName: string | null;
  run: string | null;
  text: string;
  since: number;
  firedAt: number;
  isTold: boolean;
  isAcknowledged: boolean;
}

export const openKeyOf = (ruleId: string, subject: string): string => `${ruleId} ${subject}`;

const msOf = (at: Date | null): number | null => at?.getTime() ?? null;

/** A rule as it was stored. */
export function liveRuleOf(row: AlertRule): LiveRule {
  return {
    id: row.id,
    version: row.version,
    name: row.name,
    condition: alertCondition.parse({ ...(JSON.parse(row.params) as object), kind: row.kind }),
    scope: scope.parse(JSON.parse(row.scope)),
    severity: severity.parse(row.severity),
    channelIds: JSON.parse(row.channels) as string[],
    quiet: row.quiet === null ? null : quietHours.parse(JSON.parse(row.quiet)),
    isEnabled: row.isEnabled,
    mutedUntil: msOf(row.mutedUntil),
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

import type * as z from "zod";
import { SEVERITIES } from "#protocol/alerts/severities.ts";
import type { ContinueAdvice } from "#protocol/checkpoint/continue-words.ts";
import {
  severity,
  type acknowledgeInput,
  type activeAlertsInput,
  type alertHistoryInput,
} from "#protocol/alerts/alerts.ts";
import type { AlertRow } from "#protocol/alerts/alert-views.ts";
import type { Alert, AlertRule } from "#prisma/client/client.ts";
import { audit } from "#server/core/api/audit.ts";
import { emit } from "#server/core/events/record-event.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { adviseContinue } from "#server/core/runs/advise-continue.ts";
import { pageOf, rowAt } from "#server/platform/newest-first.ts";
import type { Context } from "#server/core/api/trpc.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";
import { pathOf } from "./compose-message.ts";
import { ALERTS_LOCK } from "./evaluate.ts";
import type { OpenAlert } from "#server/core/api/ports/alert-memory.ts";

type StoredAlert = Alert & { rule: Pick<AlertRule, "name" | "kind" | "mutedUntil"> };

/** Fields that a row has only while its alert fires. */
interface Firing {
  live: OpenAlert | undefined;
  advice: string | null;
}

function alertRowOf(row: StoredAlert, firing?: Firing): AlertRow {
  const { id, ruleId, nodeId, nodeName, run, acknowledgedBy, rule } = row;
  const kind = rule.kind as AlertRow["kind"];
  return {
    id,
    ruleId,
    ruleName: rule.name,
    kind,
    severity: severity.catch("warning").parse(row.severity),
    nodeId,
    nodeName,
    run,
    // A firing alert shows the newest text.
    text: firing?.live?.text ?? row.text,
    advice: firing?.advice ?? null,
    path: pathOf({ kind, nodeId, run }),
    since: row.since.getTime(),
    firedAt: row.firedAt.getTime(),
    resolvedAt: row.resolvedAt?.getTime() ?? null,
    acknowledgedAt: row.acknowledgedAt?.getTime() ?? null,
    acknowledgedBy,
    toldAt: row.toldAt?.getTime() ?? null,
    mutedUntil: rule.mutedUntil?.getTime() ?? null,
  };
}

const textOrNull = (advice: ContinueAdvice | undefined): string | null =>
  advice === undefined || advice.text === "" ? null : advice.text;

/** Most ids in one statement; SQLite may limit its parameters to 999. */
const MOST_ASKED = 500;

const withRule = { rule: { select: { name: true, kind: true, mutedUntil: true } } } as const;

/** Returns firing alerts, gravest first and newest first within a severity, with their total number. */
export async function activeAlerts(
  hub: Hub,
  { limit }: z.infer<typeof activeAlertsInput>,
): Promise<{ rows: AlertRow[]; total: number }> {
  const rows: StoredAlert[] = [];
  for (const grade of SEVERITIES) {
    if (rows.length === limit) break;
    const found = await hub.db.alert.findMany({
      where: { openKey: { not: null }, severity: grade },
      include: withRule,
      orderBy: [{ firedAt: "desc" }, { id: "desc" }],
      take: limit - rows.length,
    });
    rows.push(...found);
  }
  const silent = rows.flatMap(({ rule, nodeId }) => (rule.kind === "silent" && nodeId !== null ? [nodeId] : []));
  const advice = await adviseContinue(hub, { nodeIds: [...new Set(silent)] });
  const shown = rows.map((row) =>
    alertRowOf(row, {
      live: hub.alerts.open.get(row.openKey ?? ""),
      advice: row.rule.kind === "silent" ? textOrNull(advice.get(row.nodeId ?? "")) : null,
    }),
  );
  return { rows: shown, total: hub.alerts.open.size };
}

/** Returns a page of resolved alerts, newest first. @throws Fault NOT_FOUND when the cursor's row is gone */
export async function alertHistory(
  hub: Hub,
  { ruleId, cursor, limit }: z.infer<typeof alertHistoryInput>,
): Promise<{ rows: AlertRow[]; nextCursor: string | null }> {
  const after = await rowAt(cursor, (id) => hub.db.alert.findUnique({ where: { id } }));
  const found = await hub.db.alert.findMany({
    where: {
      openKey: null,
      ...(ruleId === null ? {} : { ruleId }),
      ...(after === null
        ? {}
        : { OR: [{ firedAt: { lt: after.firedAt } }, { firedAt: after.firedAt, id: { lt: after.id } }] }),
    },
    include: withRule,
    orderBy: [{ firedAt: "desc" }, { id: "desc" }],
    take: limit + 1,
  });
  return pageOf(found, { limit, show: (row) => alertRowOf(row) });
}

/** Acknowledges alerts; those not announced yet are never announced. Returns how many of them still fired. */
export const acknowledge = (
  context: Context & { caller: PersonCaller },
  { alertIds }: z.infer<typeof acknowledgeInput>,
): Promise<{ acknowledged: number }> =>
  context.hub.locks.run(ALERTS_LOCK, async () => {
    const { hub, caller } = context;
    const data = { acknowledgedAt: new Date(hub.now()), acknowledgedBy: caller.person.email };
    let count = 0;
    for (let first = 0; first < alertIds.length; first += MOST_ASKED) {
      const id = { in: alertIds.slice(first, first + MOST_ASKED) };
      const updated = await hub.db.alert.updateMany({
        where: { id, openKey: { not: null }, acknowledgedAt: null },
        data,
      });
      count += updated.count;
    }
    const wanted = new Set(alertIds);
    for (const alert of hub.alerts.open.values()) if (wanted.has(alert.id)) alert.isAcknowledged = true;
    await audit(hub, caller, { action: "acknowledge alerts", subject: `${count} alerts` });
    emit(hub, null, ["alerts"]);
    return { acknowledged: count };
  });

import type { AlertRow, RuleView } from "#protocol/alerts/alert-views.ts";
import { GROUP_EVERY_MS, GROUP_WAIT_MS } from "#protocol/alerts/alert-words.ts";

/** Groups alerts by rule, in the order of each rule's first alert. */
export function groupAlerts(rows: readonly AlertRow[]): { ruleId: string; rows: AlertRow[] }[] {
  const groups = new Map<string, AlertRow[]>();
  for (const row of rows) {
    const group = groups.get(row.ruleId);
    if (group === undefined) groups.set(row.ruleId, [row]);
    else group.push(row);
  }
  return [...groups].map(([ruleId, ofRule]) => ({ ruleId, rows: ofRule }));
}

interface Telling {
  rows: readonly AlertRow[];
  rule: Pick<RuleView, "mutedUntil" | "toldAt">;
  /** Names of the rule's enabled channels. */
  told: readonly string[];
  now: number;
}

/** Returns the delivery state of one rule's alerts: their channels, how many were sent, and why others wait. */
export function tellingWords({ rows, rule, told, now }: Telling): string {
  if (told.length === 0) return "shown here only";
  const to = told.join(", ");
  if (rule.mutedUntil !== null && rule.mutedUntil > now) return "muted, nothing is sent";
  const sent = rows.filter(({ toldAt }) => toldAt !== null).length;
  const waiting = rows.filter(({ toldAt, acknowledgedAt }) => toldAt === null && acknowledgedAt === null).length;
  const wait =
    rule.toldAt !== null && now - rule.toldAt < GROUP_EVERY_MS
      ? `the next message, ${GROUP_EVERY_MS / 60_000} min after the last`
      : `others, ${GROUP_WAIT_MS / 1_000} s`;
  return [
    ...(sent > 0 ? [`${sent} sent to ${to}`] : []),
    ...(waiting > 0 ? [`${waiting} ${waiting === 1 ? "waits" : "wait"} for ${wait}`] : []),
    ...(sent + waiting === 0 ? ["acknowledged before it was sent"] : []),
  ].join(", ");
}

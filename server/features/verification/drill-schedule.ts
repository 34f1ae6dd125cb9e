import type { Hub } from "#server/core/api/hub.ts";

/** Of all runs that have no rule of their own. */
export const ALL_RUNS = "";

export interface DrillRuleRow {
  run: string;
  everyMs: bigint;
  setAt: Date;
}

/** The rule of a run, or that of all; null where nobody made one. */
export const ruleOf = (rules: readonly DrillRuleRow[], run: string): DrillRuleRow | null =>
  rules.find((rule) => rule.run === run) ?? rules.find((rule) => rule.run === ALL_RUNS) ?? null;

/** When the next drill of a run is due, epoch ms: so long after the last began, or since the rule was made; null for never. */
export function dueAt(rule: DrillRuleRow | null, lastAt: number | null): number | null {
  if (rule === null || rule.everyMs === 0n) return null;
  return lastAt === null ? rule.setAt.getTime() : lastAt + Number(rule.everyMs);
}

/** The last drill of each of these runs that ran its course: one that was cancelled, or that nobody took up, is made up for. */
export async function lastDrills(hub: Hub, runs: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await hub.db.transfer.groupBy({
    by: ["run"],
    where: { direction: "drill", run: { in: [...runs] }, state: { not: "cancelled" } },
    _max: { createdAt: true },
  });
  return new Map(rows.flatMap(({ run, _max }) => (_max.createdAt === null ? [] : [[run, _max.createdAt.getTime()]])));
}

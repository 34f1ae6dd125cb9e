import type { Hub } from "#server/core/api/hub.ts";

/** Key of the rule for all runs without their own. */
export const ALL_RUNS = "";

export interface DrillRuleRow {
  run: string;
  everyMs: bigint;
  setAt: Date;
}

/** Returns the rule of a run, else the rule for all runs; null where neither exists. */
export const ruleOf = (rules: readonly DrillRuleRow[], run: string): DrillRuleRow | null =>
  rules.find((rule) => rule.run === run) ?? rules.find((rule) => rule.run === ALL_RUNS) ?? null;

/**
 * Returns when the next drill of a run is due, epoch ms: an interval after the last one began, at once for a new rule; null for
 * never.
 */
export function dueAt(rule: DrillRuleRow | null, lastAt: number | null): number | null {
  if (rule === null || rule.everyMs === 0n) return null;
  return lastAt === null ? rule.setAt.getTime() : lastAt + Number(rule.everyMs);
}

/**
 * Returns when the last drill of each run began. Cancelled drills, and those that no node accepted, do not count and are
 * repeated.
 */
export async function lastDrills(hub: Hub, runs: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await hub.db.transfer.groupBy({
    by: ["run"],
    where: { direction: "drill", run: { in: [...runs] }, state: { not: "cancelled" } },
    _max: { createdAt: true },
  });
  return new Map(rows.flatMap(({ run, _max }) => (_max.createdAt === null ? [] : [[run, _max.createdAt.getTime()]])));
}

import type * as z from "zod";
import type { LossSum, LossSummary, LossWeek, lossSummaryInput } from "#protocol/history/losses.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { readPrices, type Prices } from "./prices.ts";

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** 1970 began on a Thursday. */
const FIRST_MONDAY_MS = 4 * DAY_MS;

/** Returns the Monday, 00:00 UTC, of the week of a moment. */
export const weekOf = (at: number): number => Math.floor((at - FIRST_MONDAY_MS) / WEEK_MS) * WEEK_MS + FIRST_MONDAY_MS;

/** Returns the cost of interruptions of one run, or of all, for every week, also for weeks without any. The database sums up. */
export async function summariseLosses(
  hub: Pick<Hub, "db" | "now">,
  { run, weeks }: z.infer<typeof lossSummaryInput>,
): Promise<LossSummary> {
  const prices = await readPrices(hub);
  const last = weekOf(hub.now());
  const summed: LossWeek[] = [];
  for (let from = last - (weeks - 1) * WEEK_MS; from <= last; from += WEEK_MS) {
    const rows = await hub.db.loss.groupBy({
      by: ["run"],
      where: { at: { gte: new Date(from), lt: new Date(from + WEEK_MS) }, ...(run === null ? {} : { run }) },
      _count: { id: true },
      _sum: { lostSteps: true, lostMs: true },
    });
    const losses = rows.map((row) => ({
      run: row.run,
      interruptions: row._count.id,
      lostSteps: Number(row._sum.lostSteps ?? 0n),
      lostMs: Number(row._sum.lostMs ?? 0n),
    }));
    summed.push({ from, ...sumOf(losses, prices) });
  }
  const price = run === null ? prices.fleet && { ...prices.fleet, of: "fleet" as const } : prices.of(run);
  return { price, weeks: summed, total: addWeeks(summed) };
}

function sumOf(
  rows: readonly { run: string; interruptions: number; lostSteps: number; lostMs: number }[],
  prices: Prices,
): LossSum {
  const costs = new Map<string, number>();
  for (const { run, lostMs } of rows) {
    const cost = prices.costOf(run, lostMs);
    if (cost !== null) costs.set(cost.currency, (costs.get(cost.currency) ?? 0) + cost.amount);
  }
  return {
    interruptions: rows.reduce((sum, row) => sum + row.interruptions, 0),
    lostSteps: rows.reduce((sum, row) => sum + row.lostSteps, 0),
    lostMs: rows.reduce((sum, row) => sum + row.lostMs, 0),
    costs: [...costs].map(([currency, amount]) => ({ currency, amount })),
  };
}

function addWeeks(weeks: readonly LossWeek[]): LossSum {
  const costs = new Map<string, number>();
  for (const { currency, amount } of weeks.flatMap((week) => week.costs))
    costs.set(currency, (costs.get(currency) ?? 0) + amount);
  return {
    interruptions: weeks.reduce((sum, week) => sum + week.interruptions, 0),
    lostSteps: weeks.reduce((sum, week) => sum + week.lostSteps, 0),
    lostMs: weeks.reduce((sum, week) => sum + week.lostMs, 0),
    costs: [...costs].map(([currency, amount]) => ({ currency, amount })),
  };
}

import type * as z from "zod";
import { wordsOf } from "#prisma/sql-words.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { MOST_METRICS } from "#protocol/base/bounded.ts";
import { MOST_STEP } from "#protocol/base/names.ts";
import {
  MOST_METRIC_LINES,
  MOST_METRICS_ASKED,
  type MetricLine,
  type RunMetrics,
  type runMetricsInput,
} from "#protocol/checkpoint/run-metrics.ts";
import type { Hub } from "../api/hub.ts";
import { COUNTERS } from "./checkpoint-row.ts";
import { readMetrics } from "./read-metrics.ts";

/**
 * Returns metrics over the steps of a run. Steps are chosen by index seeks rather than by reading the run: the cost grows
 * with the points returned, not with the number of checkpoints.
 */

/** Checkpoints that are read. There are more of them than points, because not every checkpoint has every metric. */
const MOST_LOOKED_AT = 4_000;

interface Looked {
  id: string;
  step: number;
  metrics: Record<string, number>;
}

const isLoss = (name: string): boolean => /(^|[^a-z])loss($|[^a-z])/i.test(name);

/** Orders metrics: losses first, then the shortest name, so `loss` comes before `eval_loss`. */
const byInterest = (a: string, b: string): number =>
  Number(isLoss(b)) - Number(isLoss(a)) || a.length - b.length || (a < b ? -1 : 1);

interface Asked {
  run: string;
  epoch: number;
  from: number;
  to: number;
  most: number;
}

/**
 * Returns complete checkpoints of an epoch: the first one in each of `most` equal ranges of steps, and the last of all. Each
 * query excludes final models, because the final model of a step would take the place of its checkpoint.
 */
async function lookAt({ db }: Pick<Hub, "db">, { run, epoch, from, to, most }: Asked): Promise<Looked[]> {
  const step = { gte: BigInt(from), lte: BigInt(to) };
  const endOf = async (order: "asc" | "desc"): Promise<number | null> => {
    const where = { run, state: "complete", writerEpoch: epoch, role: null, step };
    const row = await db.checkpoint.findFirst({ where, select: { step: true }, orderBy: { step: order } });
    return row === null ? null : Number(row.step);
  };
  const [first, last] = [await endOf("asc"), await endOf("desc")];
  if (first === null || last === null) return [];
  const stretches = Math.max(1, Math.min(most, last - first));
  const key = wordsOf(db).checkpointRow;
  const rows = await db.$queryRaw<{ id: string; step: bigint; metrics: string }[]>`
    WITH RECURSIVE "stretch"("n") AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT "n" + 1 FROM "stretch" WHERE "n" < CAST(${stretches} AS BIGINT))
    SELECT "id", "step", "metrics" FROM "Checkpoint" WHERE ${key} IN (
      SELECT (
        SELECT ${key} FROM "Checkpoint"
        WHERE "run" = ${run} AND "state" = 'complete' AND "writerEpoch" = ${epoch} AND "role" IS NULL
          AND "step" >= CAST(${first} AS BIGINT) + ("n" * CAST(${last - first} AS BIGINT)) / CAST(${stretches} AS BIGINT) AND "step" <= ${last}
        ORDER BY "step" LIMIT 1
      ) FROM "stretch"
    ) ORDER BY "step"`;
  return rows.map(({ id, step: at, metrics }) => ({ id, step: Number(at), metrics: readMetrics(metrics) }));
}

/** Returns at most `most` items, evenly spaced, including the first and the last. */
export function thinned<Item>(items: readonly Item[], most: number): Item[] {
  if (items.length <= most) return [...items];
  const step = (items.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, index) => items[Math.round(index * step)]).filter(
    (item) => item !== undefined,
  );
}

function lineOf(looked: readonly Looked[], name: string, about: { epoch: number; points: number }): MetricLine {
  const carrying = looked.filter(({ metrics }) => Object.hasOwn(metrics, name));
  const told = thinned(carrying, about.points);
  return {
    epoch: about.epoch,
    steps: told.map(({ step }) => step),
    values: told.map(({ metrics }) => metrics[name] ?? 0),
    ids: told.map(({ id }) => id),
  };
}

/**
 * Returns the metrics that complete checkpoints of a run carry, over their steps, for each of its newest epochs.
 * @throws Fault NOT_FOUND
 */
export async function runMetrics(
  hub: Pick<Hub, "db">,
  { run, names, steps, points }: z.infer<typeof runMetricsInput>,
): Promise<RunMetrics> {
  if ((await hub.db.run.count({ where: { name: run } })) === 0) throw new Fault("NOT_FOUND", { subject: run });
  const epochs = await hub.db.epoch.findMany({
    where: { run },
    select: { epoch: true },
    orderBy: { epoch: "desc" },
    take: MOST_METRIC_LINES,
  });
  const { from, to } = steps ?? { from: 0, to: MOST_STEP };
  const most = Math.min(points * 4, Math.floor(MOST_LOOKED_AT / Math.max(1, epochs.length)));
  const looked: { epoch: number; rows: Looked[] }[] = [];
  for (const { epoch } of epochs) looked.push({ epoch, rows: await lookAt(hub, { run, epoch, from, to, most }) });
  const known = new Set(looked.flatMap(({ rows }) => rows.flatMap(({ metrics }) => Object.keys(metrics))));
  const all = [...known].filter((name) => !COUNTERS.has(name)).toSorted(byInterest);
  const chosen = names.length > 0 ? names : all.slice(0, MOST_METRICS_ASKED);
  return {
    names: all.slice(0, MOST_METRICS),
    metrics: chosen.map((name) => ({
      name,
      lines: looked
        .map(({ epoch, rows }) => lineOf(rows, name, { epoch, points }))
        .filter((line) => line.steps.length > 0),
    })),
  };
}

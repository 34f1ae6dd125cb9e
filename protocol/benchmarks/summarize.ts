import { quantileOf } from "../base/robust.ts";
import { ENGINE_NAMES, type BenchDirection, type EngineName } from "./engines.ts";

/**
 * Summarizes single cases in the tables of the SaladCloud guide. A *subject* owns one link: a node in a fleet benchmark, a
 * round on one machine. Rates are payload bytes over the engine's own time. A failed case has no rate and counts in the
 * share of failures. Percentiles are interpolated linearly between ranks (numpy's default).
 */
export interface CaseResult {
  subject: string;
  engine: EngineName;
  direction: BenchDirection;
  /** Null: the case failed. */
  bytesPerSecond: number | null;
}

export interface Spread {
  count: number;
  mean: number;
  p10: number;
  p50: number;
  p90: number;
}

export interface EngineSummary {
  engine: EngineName;
  direction: BenchDirection;
  cases: number;
  failed: number;
  /** Over the cases that succeeded; null when none did. */
  meanBytesPerSecond: number | null;
  p50BytesPerSecond: number | null;
  /** Share of the subjects whose fastest case in this direction is by this engine, 0 to 1; null without subjects. */
  bestShare: number | null;
}

export interface BenchSummary {
  /** Spread of the subjects' fastest cases; null when nothing succeeded. */
  maxima: Record<BenchDirection, Spread | null>;
  engines: EngineSummary[];
}

const DIRECTIONS: readonly BenchDirection[] = ["up", "down"];

export function summarize(cases: readonly CaseResult[]): BenchSummary {
  const best = { up: bestOf(cases, "up"), down: bestOf(cases, "down") };
  const groups = Map.groupBy(cases, ({ engine, direction }) => `${engine} ${direction}`);
  return {
    maxima: { up: spreadOf(best.up), down: spreadOf(best.down) },
    engines: ENGINE_NAMES.flatMap((engine) =>
      DIRECTIONS.flatMap((direction) => {
        const group = groups.get(`${engine} ${direction}`);
        return group === undefined ? [] : [summaryOf(group, { engine, direction }, best[direction])];
      }),
    ),
  };
}

type Best = ReadonlyMap<string, { engine: EngineName; bytesPerSecond: number }>;

/** Returns the fastest case of each subject; the first one on a tie. */
function bestOf(cases: readonly CaseResult[], direction: BenchDirection): Best {
  const best = new Map<string, { engine: EngineName; bytesPerSecond: number }>();
  for (const { subject, engine, direction: way, bytesPerSecond } of cases) {
    if (way !== direction || bytesPerSecond === null) continue;
    if (bytesPerSecond > (best.get(subject)?.bytesPerSecond ?? 0)) best.set(subject, { engine, bytesPerSecond });
  }
  return best;
}

const spreadOf = (best: Best): Spread | null => spread([...best.values()].map(({ bytesPerSecond }) => bytesPerSecond));

function summaryOf(
  group: readonly CaseResult[],
  { engine, direction }: Pick<CaseResult, "engine" | "direction">,
  best: Best,
): EngineSummary {
  const rates = group.flatMap(({ bytesPerSecond }) => (bytesPerSecond === null ? [] : [bytesPerSecond]));
  const winners = [...best.values()].filter((winner) => winner.engine === engine).length;
  const rate = spread(rates);
  return {
    engine,
    direction,
    cases: group.length,
    failed: group.length - rates.length,
    meanBytesPerSecond: rate?.mean ?? null,
    p50BytesPerSecond: rate?.p50 ?? null,
    bestShare: best.size === 0 ? null : winners / best.size,
  };
}

/** Returns mean and percentiles; null for an empty list. */
export function spread(values: readonly number[]): Spread | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  const at = (share: number): number => quantileOf(sorted, share);
  return { count: sorted.length, mean, p10: at(0.1), p50: at(0.5), p90: at(0.9) };
}

import type { RateSpread } from "#protocol/alerts/advice.ts";
import type { LinkRow, Way } from "./link-row.ts";
import { medianOf, quantileOf } from "#protocol/base/robust.ts";

/** Nodes below which nothing is said of a fleet. */
export const LEAST_NODES = 5;
const LAST_VALUES = 5;
/** A transfer has a beginning and an end that a probe does not have. */
const OF_A_PROBE = 0.9;
const MOST_POINTS = 101;

/**
 * What each node's transfers reach, slowest first: the median of its last five, from their first byte to their last; else that of its
 * last five cases in benchmarks to the bucket that it uses, which move a file as well, those by which Tidemark chose its settings itself before others; else
 * nine tenths of its newest probe. `rows` oldest first.
 */
export function spreadRates(rows: readonly LinkRow[], way: Way): RateSpread {
  const kind = way === "up" ? "upload" : "download";
  let [samples, ofBenchmarks] = [0, 0];
  const nodes = Map.groupBy(
    rows.filter(({ isUsed }) => isUsed),
    ({ node }) => node,
  );
  const rates = [...nodes.values()].flatMap((link) => {
    const whole = link.flatMap((row) =>
      row.kind === kind && row.outcome === "done" && row.effective !== null
        ? [{ rate: row.effective, isCase: row.benchmark !== null, isTold: row.partBytes !== null }]
        : [],
    );
    const transfers = whole.filter(({ isCase }) => !isCase);
    const byItself = whole.filter(({ isTold }) => !isTold);
    const chosen = [transfers, byItself, whole].find(({ length }) => length > 0) ?? [];
    const last = chosen.slice(-LAST_VALUES).map(({ rate }) => rate);
    const probed = link.findLast((row) => row.kind === "probe" && row[way] !== null)?.[way] ?? null;
    const rate = last.length > 0 ? medianOf(last) : probed === null ? null : probed * OF_A_PROBE;
    if (rate === null || rate <= 0) return [];
    samples += Math.max(1, last.length);
    if (transfers.length === 0) ofBenchmarks += last.length;
    return [rate];
  });
  const isEnough = rates.length >= LEAST_NODES;
  return { rates: isEnough ? thinned(rates) : [], nodes: rates.length, samples, ofBenchmarks, least: LEAST_NODES };
}

function thinned(rates: readonly number[]): number[] {
  if (rates.length <= MOST_POINTS) return rates.toSorted((a, b) => a - b);
  const sorted = rates.toSorted((a, b) => a - b);
  return Array.from({ length: MOST_POINTS }, (_, at) => quantileOf(sorted, at / (MOST_POINTS - 1)));
}

import type { RateSpread } from "#protocol/alerts/advice.ts";
import type { LinkRow, Way } from "./link-row.ts";
import { medianOf, quantileOf } from "#protocol/base/robust.ts";

/** Least nodes for a statement about a fleet. */
export const LEAST_NODES = 5;
const LAST_VALUES = 5;
/** Share of a probe's rate that a transfer reaches: a transfer also has a slow beginning and end. */
const OF_A_PROBE = 0.9;
const MOST_POINTS = 101;

/**
 * Returns the rate that each node's transfers reach, slowest first; `rows` are oldest first. Takes the median of the last five
 * transfers, from first byte to last. Without transfers, takes the last five benchmark cases to the bucket in use, preferably
 * those for which Tidemark chose its settings itself. Without cases, takes nine tenths of the newest probe.
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

import type { Finding } from "#protocol/alerts/advice.ts";
import { byLink, rateOf, unasked, type LinkRow } from "./link-row.ts";
import { medianOf, superiorityOf } from "#protocol/base/robust.ts";

/** Least nodes per bucket, each with at least `LEAST_VALUES` upload rates. Each node counts once, with its median. */
export const LEAST_NODES = 5;
const LEAST_VALUES = 2;
/** Least ratio of the upload rates, and least probability that a rate of the better bucket exceeds one of the other. */
const TIMES = 1.2;
const SURE = 0.7;
/** The bucket with faster uploads must reach at least this share of the other's download rate. */
const DOWN_SHARE = 0.9;

/**
 * Finds regions whose nodes would upload faster to another bucket than to the one that most of them use. Compares probes and
 * transfers where both buckets have enough of them, else the cases of benchmarks that used both buckets. Probes and transfers
 * alone decide which bucket most nodes use.
 */
export function findBestBucket(rows: readonly LinkRow[]): Finding[] {
  const regions = Map.groupBy(
    rows.filter(({ nodeRegion }) => nodeRegion !== ""),
    ({ nodeRegion }) => nodeRegion,
  );
  return [...regions.entries()].flatMap(([region, own]) => bestOf(region, own));
}

function bestOf(region: string, rows: readonly LinkRow[]): Finding[] {
  const own = Map.groupBy(unasked(rows), ({ profileId }) => profileId);
  const cases = Map.groupBy(
    rows.filter(({ benchmark }) => benchmark !== null),
    ({ profileId }) => profileId,
  );
  const nodesOf = (lines: readonly LinkRow[]) => new Set(lines.map(({ node }) => node)).size;
  const [most] = [...own.entries()]
    .map(([profileId, lines]) => ({ profileId, nodes: nodesOf(lines) }))
    .toSorted((a, b) => b.nodes - a.nodes);
  if (most === undefined) return [];
  const usedOwn = voicesOf(own.get(most.profileId) ?? []);
  const [best] = [...new Set([...own.keys(), ...cases.keys()])]
    .filter((profileId) => profileId !== most.profileId)
    .flatMap((betterId) => {
      const byItself = enough({ used: usedOwn, better: voicesOf(own.get(betterId) ?? []) });
      const found = byItself ?? compareCases(cases.get(most.profileId) ?? [], cases.get(betterId) ?? []);
      return found === null || !isBetter(found) ? [] : [{ betterId, ...found }];
    })
    .toSorted((a, b) => b.better.up / b.used.up - a.better.up / a.used.up);
  if (best === undefined) return [];
  const { better, betterId } = best;
  const samples = best.used.values + better.values;
  return [
    {
      kind: "best-bucket",
      node: null,
      profileId: most.profileId,
      region,
      way: "up",
      run: null,
      betterId,
      better: null,
      facts: [
        { label: "up to the bucket that most use", value: best.used.up, as: "rate" },
        { label: "up to the better one", value: better.up, as: "rate" },
        { label: "nodes of the first", value: best.used.ups.length, as: "count" },
        { label: "nodes of the second", value: better.ups.length, as: "count" },
      ],
      samples,
      least: 2 * LEAST_NODES * LEAST_VALUES,
      ofBenchmarks: "areCases" in best ? samples : 0,
      nodes: best.used.ups.length + better.ups.length,
    },
  ];
}

interface Voices {
  ups: number[];
  up: number;
  /** NaN where it was not measured. */
  down: number;
  values: number;
}

/** Returns the median rates of every link with enough upload rates; `rows` are those of one bucket. */
function voicesOf(rows: readonly LinkRow[]): Voices {
  const links = [...byLink(rows).values()].flatMap((link) => {
    const up = link.map((row) => rateOf(row, "up")).filter((rate) => rate !== null);
    const down = link.map((row) => rateOf(row, "down")).filter((rate) => rate !== null);
    if (up.length < LEAST_VALUES) return [];
    return [{ up: medianOf(up), down: medianOf(down), values: up.length + down.length }];
  });
  const ups = links.map(({ up }) => up);
  return {
    ups,
    up: medianOf(ups),
    down: medianOf(links.map(({ down }) => down).filter((down) => !Number.isNaN(down))),
    values: links.reduce((sum, { values }) => sum + values, 0),
  };
}

interface Pair {
  used: Voices;
  better: Voices;
}

/** Returns null where one of the buckets has too few nodes. */
const enough = ({ used, better }: Pair): Pair | null =>
  Math.min(used.ups.length, better.ups.length) < LEAST_NODES ? null : { used, better };

/** Compares the cases of benchmarks that used both buckets: they had the same settings at about the same time. */
function compareCases(used: readonly LinkRow[], better: readonly LinkRow[]): (Pair & { areCases: true }) | null {
  const [ofUsed, ofBetter] = [used, better].map((rows) => new Set(rows.map(({ benchmark }) => benchmark)));
  const pair = enough({
    used: voicesOf(used.filter(({ benchmark }) => ofBetter?.has(benchmark))),
    better: voicesOf(better.filter(({ benchmark }) => ofUsed?.has(benchmark))),
  });
  return pair === null ? null : { ...pair, areCases: true };
}

function isBetter({ used, better }: Pair): boolean {
  if (better.up < used.up * TIMES || superiorityOf(better.ups, used.ups) < SURE) return false;
  // Where down was not measured (NaN), up decides alone.
  return !(better.down < used.down * DOWN_SHARE);
}

import type { Finding } from "#protocol/alerts/advice.ts";
import type { SqlReader } from "#prisma/sql-reader.ts";
import type { SeriesTable } from "#server/core/history/reader/read-rows.ts";
import { findAsymmetric } from "./find-asymmetric.ts";
import { findBestBucket } from "./find-best-bucket.ts";
import { findBestSizes } from "./find-best-sizes.ts";
import { findDegrading } from "./find-degrading.ts";
import { findFar } from "./find-far.ts";
import { findThrottled } from "./find-throttled.ts";
import type { LinkRow } from "./link-row.ts";
import { readBenchRows } from "./read-bench-rows.ts";
import { readLinkRows } from "./read-link-rows.ts";
import { spreadRates } from "./spread-rates.ts";
import type { Advised } from "#server/core/api/ports/history-questions.ts";

/** Most link rows held in memory at a time: 15 for each of 10,000 nodes, about 250 MB during the analysis. */
const MOST_ROWS = 150_000;
/** Most benchmark cases, and as many round trips: five studies of the size in the guide. */
const MOST_BENCH_ROWS = 50_000;

/** Returns all findings of `rows`, oldest first. A finding about several nodes names none, so a filter by node drops it. */
export function findAll(rows: readonly LinkRow[], now: number): Finding[] {
  return [
    ...findDegrading(rows, now),
    ...findThrottled(rows),
    ...findAsymmetric(rows),
    ...findFar(rows),
    ...findBestBucket(rows),
    ...findBestSizes(rows),
  ];
}

export async function advise(
  client: SqlReader,
  series: SeriesTable,
  about: { from: number; now: number; node: number | null },
): Promise<Advised> {
  const { from, now, node } = about;
  const { rows: own, oneIn } = await readLinkRows(client, series, { from, node, most: MOST_ROWS });
  const { cases, trips } = await readBenchRows(client, { from, node, most: MOST_BENCH_ROWS });
  const rows = inOrder(own, [...cases, ...trips]);
  return {
    findings: findAll(rows, now).filter((finding) => node === null || finding.node === node),
    up: spreadRates(rows, "up"),
    down: spreadRates(rows, "down"),
    rows: own.length,
    benchRows: cases.length + trips.length,
    oneIn,
  };
}

/** Sorts by time, because the newest row of a link says in which region its node is. */
const inOrder = (own: readonly LinkRow[], found: readonly LinkRow[]): LinkRow[] =>
  found.length === 0 ? [...own] : [...own, ...found].toSorted((a, b) => a.at - b.at);

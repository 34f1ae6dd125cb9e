import type * as z from "zod";
import type { exportHistoryInput, HistoryExport, LinkRecordView, PercentileRow } from "#protocol/history/history.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { listHistory } from "../list.ts";
import { readPercentilesOf } from "./percentiles.ts";
import { writeCsv, type CsvColumn } from "./write-csv.ts";

const MOST_ROWS = 50_000;
const PAGE = 500;

const RECORD_COLUMNS: readonly CsvColumn<LinkRecordView>[] = [
  ["at", (row) => new Date(row.at).toISOString()],
  ["kind", (row) => row.kind],
  ["node", (row) => row.nodeName],
  ["node_id", (row) => row.nodeId],
  ["node_region", (row) => row.region],
  ["profile", (row) => row.profileName],
  ["provider", (row) => row.provider],
  ["bucket_region", (row) => row.bucketRegion],
  ["run", (row) => row.run],
  ["engine", (row) => row.engine],
  ["outcome", (row) => row.outcome],
  ["fault", (row) => row.fault],
  ["rtt_ms", (row) => row.rttMs],
  ["up_bytes_per_second", (row) => row.up],
  ["down_bytes_per_second", (row) => row.down],
  ["effective_bytes_per_second", (row) => row.effective],
  ["steady", (row) => row.isSteady],
  ["ramp_ms", (row) => row.rampMs],
  ["took_ms", (row) => row.tookMs],
  ["size_bytes", (row) => row.sizeBytes],
  ["sent_bytes", (row) => row.sentBytes],
  ["parts", (row) => row.parts],
  ["part_bytes", (row) => row.partBytes],
  ["connections", (row) => row.connections],
  ["retries", (row) => row.retries],
];

const PERCENTILE_COLUMNS: readonly CsvColumn<PercentileRow>[] = [
  ["group", (row) => row.label],
  ["key", (row) => row.key],
  ["measure", (row) => row.measure],
  ["count", (row) => row.count],
  ["mean", (row) => row.mean],
  ["p10", (row) => row.p10],
  ["p50", (row) => row.p50],
  ["p90", (row) => row.p90],
  ["failures", (row) => row.failures],
  ["failure_share", (row) => row.failureShare],
];

/**
 * Writes records or percentiles as CSV. Column names of records carry units; percentiles are in bytes per second, for `rtt`
 * in ms.
 */
export async function exportHistory(hub: Hub, input: z.infer<typeof exportHistoryInput>): Promise<HistoryExport> {
  const day = new Date(hub.now()).toISOString().slice(0, 10);
  if (input.what === "percentiles") {
    const { rows, more } = await readPercentilesOf(hub, input.query);
    const text = await writeCsv(PERCENTILE_COLUMNS, rows);
    return { fileName: `tidemark-percentiles-${day}.csv`, text, rows: rows.length, truncated: more };
  }
  const rows: LinkRecordView[] = [];
  let { cursor } = input.query;
  do {
    const page = await listHistory(hub, { ...input.query, cursor, limit: PAGE });
    rows.push(...page.rows);
    cursor = page.nextCursor;
  } while (cursor !== null && rows.length < MOST_ROWS);
  const text = await writeCsv(RECORD_COLUMNS, rows);
  return { fileName: `tidemark-history-${day}.csv`, text, rows: rows.length, truncated: cursor !== null };
}

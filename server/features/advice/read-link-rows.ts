import type { SqlReader } from "#prisma/sql-reader.ts";
import type { SeriesTable } from "#server/core/history/reader/read-rows.ts";
import type { LinkRow } from "./link-row.ts";
import { numberIn, numberOrNull, textIn } from "#server/core/history/reader/read-cell.ts";

/**
 * Reads rows of the link history for advice, in the history thread. Samples them evenly over time and nodes if they are too
 * many.
 */

const COLUMNS =
  'r."at", r."kind", r."node", r."seriesId", r."outcome", r."rttMs", r."up", r."down", r."effective", r."burstRate", r."lateRate", r."sizeBytes", r."partBytes", r."connections"';

export interface LinkRows {
  /** Oldest first. */
  rows: LinkRow[];
  /** Sampling ratio: one row in this many was read. */
  oneIn: number;
}

/** Reads rows since `from` (epoch ms): a sample of about `most` rows, or the newest `most` of one `node`. */
export async function readLinkRows(
  client: SqlReader,
  series: SeriesTable,
  about: { from: number; most: number; node: number | null },
): Promise<LinkRows> {
  await series.refresh();
  const { from, most, node } = about;
  if (node !== null) {
    const sql = `SELECT ${COLUMNS} FROM "LinkRecord" r WHERE r."node" = ? AND r."at" >= ? ORDER BY r."at" DESC, r."id" DESC LIMIT ?`;
    const { rows } = await client.execute({ sql, args: [node, new Date(from), most] });
    return { rows: rows.map((row) => rowOf(row, series)).toReversed(), oneIn: 1 };
  }
  // Ids rise with time and have few gaps, so every nth id is an even sample that needs only the primary key.
  const ends = await client.execute({
    sql: 'SELECT (SELECT min("id") FROM "LinkRecord" WHERE "at" >= ?), (SELECT max("id") FROM "LinkRecord")',
    args: [new Date(from)],
  });
  const [first, last] = [numberOrNull(ends.rows[0]?.[0]), numberOrNull(ends.rows[0]?.[1])];
  if (first === null || last === null) return { rows: [], oneIn: 1 };
  const oneIn = Math.max(1, Math.ceil((last - first + 1) / most));
  const sql =
    oneIn === 1
      ? `SELECT ${COLUMNS} FROM "LinkRecord" r WHERE r."id" >= ? ORDER BY r."id"`
      : `WITH RECURSIVE wanted(id) AS (SELECT CAST(? AS BIGINT) UNION ALL SELECT id + ? FROM wanted WHERE id + ? <= CAST(? AS BIGINT)) SELECT ${COLUMNS} FROM wanted JOIN "LinkRecord" r ON r."id" = wanted.id ORDER BY r."id"`;
  const { rows } = await client.execute({ sql, args: oneIn === 1 ? [first] : [first, oneIn, oneIn, last] });
  return { rows: rows.map((row) => rowOf(row, series)), oneIn };
}

function rowOf(row: ArrayLike<unknown>, series: SeriesTable): LinkRow {
  const place = series.rows.get(numberIn(row[3]));
  const kind = textIn(row[1]);
  return {
    at: numberIn(row[0]),
    kind: kind === "upload" || kind === "download" ? kind : "probe",
    node: numberIn(row[2]),
    profileId: place?.profileId ?? "",
    nodeRegion: place?.nodeRegion ?? "",
    benchmark: null,
    isUsed: true,
    outcome: textIn(row[4]),
    rttMs: numberOrNull(row[5]),
    up: numberOrNull(row[6]),
    down: numberOrNull(row[7]),
    effective: numberOrNull(row[8]),
    burstRate: numberOrNull(row[9]),
    lateRate: numberOrNull(row[10]),
    sizeBytes: numberOrNull(row[11]),
    partBytes: numberOrNull(row[12]),
    connections: numberOrNull(row[13]),
  };
}

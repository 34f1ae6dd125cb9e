import type { SqlReader } from "#prisma/sql-reader.ts";
import { numberIn, numberOrNull, textIn } from "./read-cell.ts";

/** Reads rows of history for the thread: over its own connection, with bound parameters, in portions that fit in memory. */

export interface SeriesRow {
  id: number;
  node: number;
  profileId: string;
  provider: string;
  bucketRegion: string;
  nodeRegion: string;
  engine: string;
  wholeId: number;
}

/** Returns bytes of the database: SQLite gives an ArrayBuffer, PostgreSQL a Buffer. */
const bytesOf = (value: unknown): Uint8Array => {
  if (value instanceof Uint8Array) return value;
  return value instanceof ArrayBuffer ? new Uint8Array(value) : new Uint8Array();
};

/** A cache of all series, which never change; `refresh` reads those created since. */
export interface SeriesTable {
  readonly rows: Map<number, SeriesRow>;
  refresh(): Promise<void>;
}

export function createSeriesTable(client: SqlReader): SeriesTable {
  const rows = new Map<number, SeriesRow>();
  let last = 0;
  return {
    rows,
    refresh: async () => {
      const sql =
        'SELECT "id", "node", "profileId", "provider", "bucketRegion", "nodeRegion", "engine", "wholeId" FROM "HistorySeries" WHERE "id" > ? ORDER BY "id"';
      for (const row of (await client.execute({ sql, args: [last] })).rows) {
        last = numberIn(row[0]);
        rows.set(last, {
          id: last,
          node: numberIn(row[1]),
          profileId: textIn(row[2]),
          provider: textIn(row[3]),
          bucketRegion: textIn(row[4]),
          nodeRegion: textIn(row[5]),
          engine: textIn(row[6]),
          wholeId: numberIn(row[7]),
        });
      }
    },
  };
}

/** Returns rows of histograms by shelf and interval; the ends of ranges are exclusive. */
export async function readRolls(
  client: SqlReader,
  at: { level: number; shelves: readonly [number, number]; stretches: readonly [number, number] },
): Promise<{ shelf: number; stretch: number; body: Uint8Array }[]> {
  const sql =
    'SELECT "shelf", "stretch", "body" FROM "HistoryRoll" WHERE "level" = ? AND "shelf" >= ? AND "shelf" < ? AND "stretch" >= ? AND "stretch" < ? ORDER BY "shelf", "stretch"';
  const { rows } = await client.execute({ sql, args: [at.level, ...at.shelves, ...at.stretches] });
  return rows.map((row) => ({ shelf: numberIn(row[0]), stretch: numberIn(row[1]), body: bytesOf(row[2]) }));
}

/** Returns the minutes of one shelf; the end is exclusive. */
export async function readMinutes(
  client: SqlReader,
  at: { shelf: number; minutes: readonly [number, number] },
): Promise<Uint8Array[]> {
  const sql =
    'SELECT "body" FROM "HistoryMinute" WHERE "shelf" = ? AND "minute" >= ? AND "minute" < ? ORDER BY "minute"';
  return (await client.execute({ sql, args: [at.shelf, ...at.minutes] })).rows.map((row) => bytesOf(row[0]));
}

export interface StoredRecord {
  series: number;
  kind: string;
  outcome: string;
  rttMs: number | null;
  up: number | null;
  down: number | null;
  effective: number | null;
}

/** Returns the probes and transfers of a range (epoch ms, the end exclusive). */
export async function readRecords(client: SqlReader, from: number, to: number): Promise<StoredRecord[]> {
  const sql =
    'SELECT "seriesId", "kind", "outcome", "rttMs", "up", "down", "effective" FROM "LinkRecord" WHERE "at" >= ? AND "at" < ?';
  return (await client.execute({ sql, args: [new Date(from), new Date(to)] })).rows.map((row) => ({
    series: numberIn(row[0]),
    kind: textIn(row[1]),
    outcome: textIn(row[2]),
    rttMs: numberOrNull(row[3]),
    up: numberOrNull(row[4]),
    down: numberOrNull(row[5]),
    effective: numberOrNull(row[6]),
  }));
}

/** Returns the highest shelf that holds a node. */
export async function lastShelf(client: SqlReader): Promise<number> {
  const { rows } = await client.execute('SELECT max("number") FROM "HistoryNode"');
  return Math.floor((numberIn(rows[0]?.[0]) - 1) / 64) + 1;
}

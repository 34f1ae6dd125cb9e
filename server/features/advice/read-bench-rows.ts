import * as z from "zod";
import type { SqlReader } from "#prisma/sql-reader.ts";
import { numberIn, textIn } from "#server/core/history/reader/read-cell.ts";
import { NO_NUMBERS, type LinkRow } from "./link-row.ts";

/**
 * Reads benchmark results as link rows: cases of Tidemark's own engine, which moves data as transfers do, and the round trip of
 * each turn. Rates of other engines do not predict a transfer. Small payloads are excluded by their size. Excluding them by
 * their duration would drop the fast ones, and every link would look slow.
 */

const LEAST_SIZE_BYTES = 64 * 1024 * 1024;
/** How long before `from` a benchmark may have started: it waits for nodes, so its cases can be much newer. */
const LONGEST_MS = 7 * 86_400_000;
const WHERE = 'n."number", t."profileId", t."nodeRegion", b."id", own."profileId"';
const told = z.object({ partBytes: z.number(), connections: z.number() });

interface Asked {
  /** Epoch ms. */
  from: number;
  /** Most cases, and most round trips, to read; the newest are kept. */
  most: number;
  /** Limits the result to this node; null reads all nodes. */
  node: number | null;
}

/** Reads cases and round trips, each oldest first. */
export async function readBenchRows(client: SqlReader, about: Asked): Promise<{ cases: LinkRow[]; trips: LinkRow[] }> {
  const { most, node } = about;
  const from = new Date(about.from);
  const begun = new Date(about.from - LONGEST_MS);
  const benchmarks = await client.execute({
    sql: 'SELECT "id", "settings" FROM "Benchmark" WHERE "startedAt" >= ? ORDER BY "startedAt", "id"',
    args: [begun],
  });
  const places = new Map(
    benchmarks.rows.map((row, number) => {
      const settings = told.safeParse(JSON.parse(textIn(row[1])));
      return [textIn(row[0]), { number, settings: settings.success ? settings.data : null }];
    }),
  );
  if (places.size === 0) return { cases: [], trips: [] };
  const links = `FROM "Benchmark" b JOIN "BenchTurn" t ON t."benchmarkId" = b."id" JOIN "HistoryNode" n ON n."nodeId" = t."nodeId" JOIN "Node" own ON own."id" = t."nodeId"`;
  const which = `b."startedAt" >= ? AND (CAST(? AS INTEGER) IS NULL OR n."number" = ?)`;
  const found = await client.execute({
    sql: `SELECT c."at", ${WHERE}, c."direction", c."bytesPerSecond", c."bytes", c."engine" ${links} JOIN "BenchCase" c ON c."turnId" = t."id" WHERE ${which} AND c."at" >= ? AND c."engine" IN ('tidemark', 'tidemark-auto') AND c."bytesPerSecond" > 0 AND c."bytes" >= ? ORDER BY c."at" DESC, t."id" DESC LIMIT ?`,
    args: [begun, node, node, from, LEAST_SIZE_BYTES, most],
  });
  const measured = await client.execute({
    sql: `SELECT t."startedAt", ${WHERE}, t."rttMs" ${links} WHERE ${which} AND t."startedAt" >= ? AND t."rttMs" IS NOT NULL ORDER BY t."startedAt" DESC, t."id" DESC LIMIT ?`,
    args: [begun, node, node, from, most],
  });
  const cases = found.rows.map((row): LinkRow => {
    const place = places.get(textIn(row[4]));
    // `tidemark-auto` chooses part size and connections while it runs, so they are unknown.
    const settings = row[9] === "tidemark" ? place?.settings : null;
    return {
      ...lineOf(row, place?.number ?? 0),
      kind: row[6] === "down" ? "download" : "upload",
      outcome: "done",
      effective: numberIn(row[7]),
      sizeBytes: numberIn(row[8]),
      partBytes: settings?.partBytes ?? null,
      connections: settings?.connections ?? null,
    };
  });
  const trips = measured.rows.map((row): LinkRow => ({
    ...lineOf(row, places.get(textIn(row[4]))?.number ?? 0),
    rttMs: numberIn(row[6]),
  }));
  return { cases: cases.toReversed(), trips: trips.toReversed() };
}

/** Returns the columns that every row has: time, node and bucket, without rates. */
const lineOf = (row: ArrayLike<unknown>, benchmark: number): LinkRow => ({
  at: numberIn(row[0]),
  kind: "probe",
  node: numberIn(row[1]),
  profileId: textIn(row[2]),
  nodeRegion: textIn(row[3]),
  benchmark,
  isUsed: textIn(row[2]) === textIn(row[5]),
  outcome: "accept",
  ...NO_NUMBERS,
});

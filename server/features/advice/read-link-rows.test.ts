import { afterEach, beforeEach, expect, test } from "vitest";
import { connect, type SqlClient } from "#prisma/connection.ts";
import { createSeriesTable } from "#server/core/history/reader/read-rows.ts";
import { readLinkRows } from "./read-link-rows.ts";

let client: SqlClient;
beforeEach(async () => {
  client = await connect(":memory:");
  await client.execute(
    'CREATE TABLE "HistorySeries" ("id" INTEGER PRIMARY KEY, "node", "profileId", "provider", "bucketRegion", "nodeRegion", "engine", "wholeId")',
  );
  await client.execute("INSERT INTO \"HistorySeries\" VALUES (3, 7, 'east', 'aws', 'us-east-1', 'eu', 'tidemark', 1)");
  await client.execute(
    'CREATE TABLE "LinkRecord" ("id" INTEGER PRIMARY KEY, "at" INTEGER, "kind", "node", "seriesId", "outcome", "rttMs", "up", "down", "effective", "burstRate", "lateRate", "sizeBytes", "partBytes", "connections")',
  );
  for (let id = 1; id <= 100; id++) {
    const sql = `INSERT INTO "LinkRecord" VALUES (?, ?, 'upload', ?, 3, 'done', 30, NULL, NULL, ?, NULL, NULL, 64, 8, 4)`;
    await client.execute({ sql, args: [id, id * 1000, id % 5, id] });
  }
});
afterEach(() => client.close());

const read = async (about: { from: number; most: number; node: number | null }) => {
  const { rows, oneIn } = await readLinkRows(client, createSeriesTable(client), about);
  return { oneIn, ids: rows.map(({ effective }) => effective), rows };
};

test("as long as all lines fit they are all read, oldest first, with their place", async () => {
  const { oneIn, ids, rows } = await read({ from: 41_000, most: 60, node: null });
  expect([oneIn, ids.length, ids[0], ids.at(-1)]).toEqual([1, 60, 41, 100]);
  expect(rows[0]).toMatchObject({ at: 41_000, kind: "upload", node: 1, profileId: "east", nodeRegion: "eu", up: null });
});

test("of more than fit every so-and-so-manyth is read, evenly to the end", async () => {
  expect(await read({ from: 1_000, most: 30, node: null })).toMatchObject({
    oneIn: 4,
    ids: Array.from({ length: 25 }, (_, index) => 1 + index * 4),
  });
});

test("of one node its newest lines are read, and nothing where there is none", async () => {
  expect(await read({ from: 1_000, most: 3, node: 2 })).toMatchObject({ oneIn: 1, ids: [87, 92, 97] });
  expect(await read({ from: 90_000, most: 30, node: 2 })).toMatchObject({ ids: [92, 97] });
  expect(await read({ from: 1e9, most: 30, node: null })).toMatchObject({ ids: [], oneIn: 1 });
});

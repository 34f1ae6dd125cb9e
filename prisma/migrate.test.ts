import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connect, type SqlClient } from "./connection.ts";
import { draftMigration } from "./draft/draft-migration.ts";
import { migrate, readMigrations } from "./migrate.ts";
import { openDatabase } from "./open.ts";

const first = { name: "0001_first", sql: "CREATE TABLE a (x INTEGER);\nCREATE TABLE b (y INTEGER);" };
const second = { name: "0002_second", sql: "ALTER TABLE a ADD COLUMN z TEXT;" };
const tables = async (client: SqlClient): Promise<string[]> =>
  (await client.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")).rows.map((row) =>
    typeof row[0] === "string" ? row[0] : "",
  );

describe("migrations", () => {
  it("gives exactly the tables schema.prisma describes", async () => {
    expect(await draftMigration()).toBeNull();
  });

  it("runs each file once, in order", async () => {
    const client = await connect(":memory:");
    expect(await migrate(client, [first])).toEqual(["0001_first"]);
    expect(await migrate(client, [first, second])).toEqual(["0002_second"]);
    expect(await migrate(client, [first, second])).toEqual([]);
    expect(await tables(client)).toEqual(["_prisma_migrations", "a", "b"]);
  });

  it("refuses a file that changed after it ran", async () => {
    const client = await connect(":memory:");
    await migrate(client, [first]);
    await expect(migrate(client, [{ ...first, sql: `${first.sql} ` }])).rejects.toThrow(
      "Migration 0001_first is not the one this database was made with.",
    );
  });

  it("refuses a database that a newer version has written", async () => {
    const client = await connect(":memory:");
    await migrate(client, [first, second]);
    await expect(migrate(client, [first])).rejects.toThrow("newer version of Tidemark (0002_second)");
  });

  it("leaves nothing behind of a migration that fails half-way", async () => {
    const client = await connect(":memory:");
    const broken = { name: "0001_broken", sql: "CREATE TABLE a (x INTEGER);\nCREATE TABLE a (x INTEGER);" };
    await expect(migrate(client, [broken])).rejects.toThrow(
      "Migration 0001_broken failed; the database is as it was before.",
    );
    expect(await tables(client)).toEqual([]);
  });

  it("records what Prisma's own tool records", async () => {
    const client = await connect(":memory:");
    await migrate(client, await readMigrations());
    const { rows } = await client.execute(
      `SELECT length("checksum"), "applied_steps_count", "rolled_back_at" FROM "_prisma_migrations"`,
    );
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) expect([Number(row[0]), Number(row[1]), row[2]]).toEqual([64, 1, null]);
  });
});

describe("the one connection", () => {
  let folder = "";
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "tidemark-db-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("keeps its settings after a transaction", async () => {
    const { db, close } = await openDatabase(`file:${join(folder, "hub.db")}`);
    const settings = async () => [
      await db.$queryRaw`PRAGMA foreign_keys`,
      await db.$queryRaw`PRAGMA synchronous`,
      await db.$queryRaw`PRAGMA journal_mode`,
      await db.$queryRaw`PRAGMA busy_timeout`,
    ];
    const before = await settings();
    expect(JSON.stringify(before, (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value))).toBe(
      JSON.stringify([[{ foreign_keys: 1 }], [{ synchronous: 2 }], [{ journal_mode: "wal" }], [{ timeout: 5000 }]]),
    );
    await db.$transaction(async (tx) => {
      await tx.audit.create({ data: { at: new Date(), actor: "a", action: "b", subject: "c" } });
    });
    expect(await settings()).toEqual(before);
    await close();
  });

  it("rolls back the whole of a transaction that throws", async () => {
    const { db, close } = await openDatabase(`file:${join(folder, "hub.db")}`);
    const attempt = db.$transaction(async (tx) => {
      await tx.audit.create({ data: { at: new Date(), actor: "a", action: "b", subject: "c" } });
      throw new Error("no");
    });
    await expect(attempt).rejects.toThrow("no");
    expect(await db.audit.count()).toBe(0);
    await close();
  });

  it("adds up numbers of which the sum leaves 64 bits, and does not fail", async () => {
    const { db, close } = await openDatabase(`file:${join(folder, "hub.db")}`);
    const about = { at: new Date(), run: "r", epoch: 1, nodeId: "n", byNodeId: "n", fromStep: null, lastStep: 1n };
    const rows = Array.from({ length: 1_100 }, (_, index) => ({
      ...about,
      id: `${index}`,
      lostSteps: 3n,
      lostMs: 2n ** 53n - 1n,
    }));
    await db.loss.createMany({ data: rows });
    const [sum] = await db.loss.groupBy({ by: ["run"], _sum: { lostMs: true, lostSteps: true }, _count: { id: true } });
    expect(sum).toMatchObject({ _sum: { lostMs: 2n ** 53n - 1n, lostSteps: 3_300n }, _count: { id: 1_100 } });
    expect(await db.$queryRaw`SELECT COALESCE(SUM("lostMs"), 0) AS "all" FROM "Loss"`).toEqual([
      { all: Number.MAX_SAFE_INTEGER },
    ]);
    expect(await db.loss.aggregate({ where: { run: "none" }, _sum: { lostMs: true } })).toEqual({
      _sum: { lostMs: 0n },
    });
    await close();
  });

  it("keeps counts beyond 2^31 and times to the millisecond", async () => {
    const { db, close } = await openDatabase(`file:${join(folder, "hub.db")}`);
    const at = new Date(1_790_000_000_123);
    const about = { id: "loss", run: "r", epoch: 1, nodeId: "n", byNodeId: "n", fromStep: null, lastStep: 1n };
    await db.loss.create({ data: { ...about, at, lostSteps: 9_007_199_254_740_991n, lostMs: 3_000_000_000n } });
    const row = await db.loss.findFirstOrThrow();
    expect([row.at.getTime(), row.lostSteps, row.lostMs]).toEqual([
      at.getTime(),
      9_007_199_254_740_991n,
      3_000_000_000n,
    ]);
    await close();
  });
});

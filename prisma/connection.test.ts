import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect, onOneConnection, type SqlClient } from "./connection.ts";
import { databaseFailure } from "./database-failure.ts";
import { openDatabase } from "./open.ts";

const LOG_LIMIT = 64 * 1024 ** 2;

test("a commit that finds no room leaves no transaction open", async () => {
  const inner = await connect(":memory:");
  let isFull = true;
  const failing: SqlClient = Object.create(inner, {
    execute: {
      value: async (statement: Parameters<SqlClient["execute"]>[0]) => {
        if (isFull && statement === "COMMIT") throw new Error("SQLITE_FULL: database or disk is full");
        return inner.execute(statement);
      },
    },
  });
  const client = onOneConnection(failing);
  await client.execute("CREATE TABLE T (a)");
  const first = await client.transaction("write");
  await first.execute("INSERT INTO T VALUES (1)");
  await expect(first.commit()).rejects.toSatisfy((error) => databaseFailure(error) === "HUB_DISK_FULL");
  isFull = false;
  const second = await client.transaction("write");
  await second.execute("INSERT INTO T VALUES (2)");
  await second.commit();
  expect((await client.execute("SELECT a FROM T")).rows.map(({ a }) => a)).toEqual([2]);
  inner.close();
});

test("a log that grew while a reader held a snapshot is cut to its limit once the reader is gone", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-wal-"));
  const url = `file:${join(folder, "hub.db")}`;
  const logBytes = async () => (await stat(join(folder, "hub.db-wal"))).size;
  const writer = await connect(url);
  const reader = await connect(url);
  try {
    await writer.execute("CREATE TABLE T (a)");
    await writer.execute("INSERT INTO T VALUES (0)");
    await reader.execute("BEGIN");
    await reader.execute("SELECT a FROM T");
    for (let count = 0; count < 20; count++) await writer.execute("INSERT INTO T VALUES (randomblob(4000000))");
    expect(await logBytes()).toBeGreaterThan(LOG_LIMIT);
    // What the reader sees stays as it was.
    expect((await reader.execute("SELECT COUNT(*) AS count FROM T")).rows[0]?.["count"]).toBe(1);
    await reader.execute("COMMIT");
    for (let count = 0; count < 3; count++) await writer.execute("INSERT INTO T VALUES (1)");
    expect(await logBytes()).toBeLessThanOrEqual(LOG_LIMIT);
  } finally {
    reader.close();
    writer.close();
    await rm(folder, { recursive: true });
  }
});

test("a roll-back of what the database ended by itself is no error", async () => {
  const client = await connect(":memory:");
  const open = await client.transaction("write");
  await open.execute("ROLLBACK");
  await expect(open.rollback()).resolves.toBeUndefined();
  client.close();
});

test("errors of other kinds are not taken for a full disk", () => {
  const inside = new Error("UNIQUE constraint failed", { cause: new Error("ENOSPC: no space left on device") });
  expect(databaseFailure(inside)).toBe("HUB_DISK_FULL");
  expect(databaseFailure(new Error("UNIQUE constraint failed"))).toBeNull();
  expect(databaseFailure("SQLITE_FULL")).toBeNull();
});

/** Takes some milliseconds. */
const LONG = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT COUNT(*) FROM n`;

test("lets the event loop turn between statements that follow each other, also within a transaction", async () => {
  const client = await connect(":memory:");
  let turns = 0;
  let next = setImmediate(function count() {
    turns++;
    next = setImmediate(count);
  });
  for (let asked = 0; asked < 10; asked++) await client.execute({ sql: LONG, args: [] });
  expect(turns).toBeGreaterThan(5);
  turns = 0;
  const transaction = await client.transaction("write");
  for (let asked = 0; asked < 10; asked++) await transaction.execute(LONG);
  await transaction.commit();
  expect(turns).toBeGreaterThan(5);
  clearImmediate(next);
  client.close();
});

test("counts and changes rows that a condition names one by one, as many as a statement of SQLite may name", async () => {
  const { db, close } = await openDatabase(":memory:");
  try {
    const id = { in: Array.from({ length: 32_000 }, (_, index) => `user-${index}`) };
    expect(await db.user.count({ where: { id } })).toBe(0);
    expect(await db.user.updateMany({ where: { id }, data: { email: "a" } })).toEqual({ count: 0 });
  } finally {
    await close();
  }
});

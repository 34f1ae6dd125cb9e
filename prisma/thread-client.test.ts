import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connect, settle, type SqlClient } from "./connection.ts";
import { openDatabase } from "./open.ts";
import { openThreadClient } from "./thread-client.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-thread-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const fileUrl = () => `file:${join(folder, "a.db")}`;

/** A thread's connection with the settings of every one, and its end. */
async function openThread(url: string): Promise<{ client: SqlClient; close: () => Promise<void> }> {
  const thread = openThreadClient(url);
  const client = await settle(thread.client);
  const close = async () => {
    client.close();
    await thread.ended;
  };
  return { client, close };
}

/** Takes some milliseconds in SQLite. */
const LONG = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) SELECT COUNT(*) FROM n`;

test("the event loop turns while a statement runs", async () => {
  const { client, close } = await openThread(fileUrl());
  let turns = 0;
  let next = setImmediate(function count() {
    turns++;
    next = setImmediate(count);
  });
  await client.execute(LONG);
  clearImmediate(next);
  expect(turns).toBeGreaterThan(100);
  await close();
});

test("a commit that waits for the lock of another holds up nothing here", async () => {
  const url = fileUrl();
  const other = await connect(url);
  const { client, close } = await openThread(url);
  await client.execute("CREATE TABLE T (a)");
  await other.execute("BEGIN IMMEDIATE");
  const writing = client.execute("INSERT INTO T VALUES (1)");
  // It would wait for five seconds in this thread, and the other could never end.
  await other.execute("COMMIT");
  await writing;
  expect((await other.execute("SELECT COUNT(*) FROM T")).rows[0]?.[0]).toBe(1);
  other.close();
  await close();
});

test("answers what a connection of this thread answers: values, names, numbers of rows", async () => {
  const url = fileUrl();
  const here = await connect(url);
  const { client: there, close } = await openThread(url);
  await there.execute("CREATE TABLE T (id INTEGER PRIMARY KEY, a TEXT, b REAL, c BLOB, d)");
  const sql = "INSERT INTO T (a, b, c, d) VALUES (?, ?, ?, ?)";
  const inserted = await there.execute({ sql, args: ["ä\u0000x", 1.5, new Uint8Array([1, 2, 255]), null] });
  expect([inserted.rowsAffected, inserted.lastInsertRowid]).toEqual([1, 1n]);
  await there.execute({ sql, args: ["", 2 ** 40, new Uint8Array(), true] });
  const read = `SELECT *, b AS "a", id + 1 AS next FROM T ORDER BY id`;
  const [one, other] = [await here.execute(read), await there.execute(read)];
  expect(other.columns).toEqual(one.columns);
  expect(other.columnTypes).toEqual(one.columnTypes);
  expect(other.rows.map((row) => Array.from(row))).toEqual(one.rows.map((row) => Array.from(row)));
  expect(other.rows.map((row) => [row.length, row["a"], row["next"]])).toEqual(
    one.rows.map((row) => [row.length, row["a"], row["next"]]),
  );
  here.close();
  await close();
});

test("errors have the codes by which Prisma knows them", async () => {
  const { client, close } = await openThread(fileUrl());
  await client.execute("CREATE TABLE T (a UNIQUE)");
  await client.execute("INSERT INTO T VALUES (1)");
  await expect(client.execute("INSERT INTO T VALUES (1)")).rejects.toMatchObject({
    message: "SQLITE_CONSTRAINT: UNIQUE constraint failed: T.a",
    code: "SQLITE_CONSTRAINT",
    rawCode: 2067,
  });
  await expect(client.execute("SELEC 1")).rejects.toMatchObject({ code: "SQLITE_ERROR" });
  const opened = await client.transaction("write");
  await expect(opened.execute("INSERT INTO T VALUES (1)")).rejects.toThrow("UNIQUE");
  await opened.rollback();
  expect((await client.execute("SELECT COUNT(*) AS n FROM T")).rows[0]?.["n"]).toBe(1);
  await close();
});

test("what is asked after the end is refused, and what was asked before it is answered", async () => {
  const { client, ended } = openThreadClient(fileUrl());
  const asked = client.execute("SELECT 7");
  client.close();
  await ended;
  expect((await asked).rows[0]?.[0]).toBe(7);
  await expect(client.execute("SELECT 1")).rejects.toThrow("closed");
});

test("the database of a hub waits for its disk elsewhere: this thread goes on during a long question", async () => {
  const { db, close } = await openDatabase(fileUrl());
  let turns = 0;
  let next = setImmediate(function count() {
    turns++;
    next = setImmediate(count);
  });
  await db.$queryRawUnsafe(LONG);
  clearImmediate(next);
  expect(turns).toBeGreaterThan(100);
  await close();
});

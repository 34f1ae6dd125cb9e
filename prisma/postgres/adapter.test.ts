import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Database } from "../open.ts";
import { openDatabase } from "../open.ts";
import { databaseFailure } from "../database-failure.ts";
import { wordsOf } from "../sql-words.ts";
import type { Turns } from "../take-turns.ts";
import { openPostgres, type OpenedPostgres } from "./open.ts";
import { openSession } from "./pool.ts";

/** Makes the same calls to both databases: the hub relies on the answers of SQLite. */

const server = process.env["TEST_POSTGRES_URL"];
const NAME = `adapter_${process.pid}_${Date.now()}`;

/** Runs as many at once as it is told, in order of arrival. */
function plainTurns(atOnce: number): Turns {
  let running = 0;
  const waiting: (() => void)[] = [];
  return {
    run: async (work) => {
      if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
      running++;
      try {
        return await work();
      } finally {
        running--;
        waiting.shift()?.();
      }
    },
  };
}

const administer = async (sql: string): Promise<void> => {
  const session = await openSession({ directUrl: server ?? "" });
  await session.query(sql);
  await session.end();
};

const at = (ms: number) => new Date(ms);

describe.skipIf(server === undefined)("both databases", () => {
  let postgres: OpenedPostgres;
  let place = { url: "", directUrl: "", connections: 5 };
  const both: { name: string; db: Database }[] = [];
  const closers: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    await administer(`CREATE DATABASE "${NAME}"`);
    const url = new URL(server ?? "");
    url.pathname = `/${NAME}`;
    place = { ...place, url: url.href, directUrl: url.href };
    postgres = await openPostgres(place, { turns: plainTurns, lock: null });
    const sqlite = await openDatabase(":memory:", { turns: plainTurns(1) });
    both.push({ name: "sqlite", db: sqlite.db }, { name: "postgres", db: postgres.db });
    closers.push(sqlite.close, postgres.close);
    for (const { db } of both) {
      await db.event.createMany({
        data: ["b", "A", "a", "É", "é", "_x", "50%", "back\\slash"].map((text, index) => ({
          at: at(index),
          kind: "test",
          work: "moving",
          text,
          nodeId: index % 2 === 0 ? null : `node-${index}`,
        })),
      });
    }
  });
  afterAll(async () => {
    for (const close of closers) await close();
    await administer(`DROP DATABASE "${NAME}" WITH (FORCE)`);
  });

  const fromBoth = async (ask: (db: Database) => Promise<unknown>): Promise<unknown[]> => {
    const answers: unknown[] = [];
    for (const { db } of both) answers.push(await ask(db));
    return answers;
  };

  test("sort text by its bytes, and rows without a value before every other one", async () => {
    const [sqlite, onPostgres] = await fromBoth(async (db) => [
      (await db.event.findMany({ orderBy: { text: "asc" } })).map(({ text }) => text),
      (await db.event.findMany({ orderBy: [{ nodeId: "asc" }, { id: "asc" }] })).map(({ text }) => text),
      (await db.event.findMany({ orderBy: [{ nodeId: "desc" }, { id: "asc" }] })).map(({ text }) => text),
    ]);
    expect(onPostgres).toEqual(sqlite);
    expect(sqlite).toEqual([
      ["50%", "A", "_x", "a", "b", "back\\slash", "É", "é"],
      ["b", "a", "é", "50%", "A", "É", "_x", "back\\slash"],
      ["back\\slash", "_x", "É", "A", "b", "a", "é", "50%"],
    ]);
  });

  test("find text without regard to case in ASCII, with the same letters that stand for others", async () => {
    for (const words of ["a", "B", "é", "_", "%", "\\", "K\\S"]) {
      const [sqlite, onPostgres] = await fromBoth(async (db) => {
        const found = await db.event.findMany({ where: { text: { contains: words } }, orderBy: { id: "asc" } });
        return found.map(({ text }) => text);
      });
      expect(onPostgres, words).toEqual(sqlite);
      expect(sqlite, words).not.toEqual([]);
    }
  });

  test("return bytes, dates and rows of a raw statement alike", async () => {
    const [sqlite, onPostgres] = await fromBoth(async (db) => {
      await db.historyRoll.create({
        data: { level: 1, shelf: 1, stretch: 5, body: new Uint8Array([0, 255, 7]) },
      });
      const row = await db.historyRoll.findFirstOrThrow();
      const rows = await db.$queryRaw<{ at: Date }[]>`SELECT "text" FROM "Event" WHERE "at" >= ${at(6)} ORDER BY "at"`;
      const first = await db.event.findFirstOrThrow({ orderBy: { at: "desc" } });
      return [[...row.body], rows, first.at.getTime()];
    });
    expect(onPostgres).toEqual(sqlite);
    expect(sqlite).toEqual([[0, 255, 7], [{ text: "50%" }, { text: "back\\slash" }], 7]);
  });

  test("text with the character of number 0 is stored on PostgreSQL with another in its place, and found again", async () => {
    const { db } = postgres;
    await db.jobQueue.create({ data: { name: "a\0b", pausedAt: null } });
    const { name } = await db.jobQueue.findUniqueOrThrow({ where: { name: "a\0b" } });
    expect(name).toBe("a\uFFFDb");
    await db.jobQueue.delete({ where: { name } });
  });

  test("let one transaction write at a time: what it read is still so when it writes", async () => {
    const counts = await fromBoth(async (db) => {
      await db.jobQueue.create({ data: { name: "counted", pausedAt: null } });
      await db.event.updateMany({ where: { text: "b" }, data: { run: "0" } });
      const addOne = () =>
        db.$transaction(async (tx) => {
          const { run } = await tx.event.findFirstOrThrow({ where: { text: "b" } });
          await tx.event.updateMany({ where: { text: "b" }, data: { run: String(Number(run) + 1) } });
        });
      await Promise.all(Array.from({ length: 25 }, addOne));
      return (await db.event.findFirstOrThrow({ where: { text: "b" } })).run;
    });
    expect(counts).toEqual(["25", "25"]);
  });

  test("undo all of a transaction that fails", async () => {
    const left = await fromBoth(async (db) => {
      const failed = db.$transaction(async (tx) => {
        await tx.jobQueue.create({ data: { name: "undone", pausedAt: null } });
        throw new Error("on purpose");
      });
      await expect(failed).rejects.toThrow("on purpose");
      return db.jobQueue.count({ where: { name: "undone" } });
    });
    expect(left).toEqual([0, 0]);
  });

  test("carry their words into a transaction", async () => {
    const engines = await fromBoth((db) => db.$transaction(async (tx) => wordsOf(tx).engine));
    expect(engines).toEqual(["sqlite", "postgres"]);
  });

  test("a statement that takes too long is the hub's own fault, which may be tried again", async () => {
    const slow = postgres.db.$transaction(async (tx) => {
      await tx.$executeRaw`SET LOCAL statement_timeout = 50`;
      await tx.$queryRaw`SELECT 1 FROM pg_sleep(20)`;
    });
    const error: unknown = await slow.catch((caught: unknown) => caught);
    expect(databaseFailure(error)).toBe("HUB_BUSY");
  });

  test.each([
    ["53100", "HUB_DISK_FULL"],
    ["XX001", "HUB_DATABASE_DAMAGED"],
    ["40001", "HUB_BUSY"],
    ["40P01", "HUB_BUSY"],
    ["53300", "HUB_BUSY"],
    ["57P03", "DATABASE_UNREACHABLE"],
    ["25006", "DATABASE_UNREACHABLE"],
    ["P0001", null],
  ])("the code %s of PostgreSQL is told as %s", async (code, failure) => {
    const raised = postgres.db.$executeRawUnsafe(
      `DO $$ BEGIN RAISE EXCEPTION 'made' USING ERRCODE = '${code}'; END $$`,
    );
    const error: unknown = await raised.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(Error);
    expect(databaseFailure(error)).toBe(failure);
  });

  test("a session that the server ends is told as a database out of reach, and the next call has another", async () => {
    const ended = postgres.db.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT 1 FROM pg_terminate_backend(pg_backend_pid())`;
    });
    const error: unknown = await ended.catch((caught: unknown) => caught);
    expect(databaseFailure(error)).toBe("DATABASE_UNREACHABLE");
    expect(await postgres.db.event.count()).toBe(8);
  });

  test("connections stay within their limit while far more is asked at once", async () => {
    const asked = Array.from({ length: 60 }, () => postgres.db.event.count());
    const seen = new Set<number>();
    const looking = setInterval(() => seen.add(postgres.room().open), 1);
    await Promise.all(asked);
    clearInterval(looking);
    expect(Math.max(...seen, postgres.room().open)).toBeLessThanOrEqual(place.connections);
  });

  test("former content is removed from every table of sealed texts", async () => {
    await wordsOf(postgres.db).dropFormerContent(postgres.db);
    const schema = await readFile(join(import.meta.dirname, "schema.prisma"), "utf8");
    const sealed = [...schema.matchAll(/^model (\w+) \{\n(.*?)^\}/gms)].filter(([, , body = ""]) =>
      /^ {2}sealed /m.test(body),
    );
    expect(sealed.length).toBeGreaterThan(6);
    // The server counts a little later.
    await vi.waitFor(async () => {
      const rows = await postgres.db.$queryRaw<
        { name: string }[]
      >`SELECT relname::text AS "name" FROM pg_stat_user_tables WHERE vacuum_count > 0`;
      expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining(sealed.map(([, name]) => name)));
    });
  });
});

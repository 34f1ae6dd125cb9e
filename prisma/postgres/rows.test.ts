import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createFilePlace, fillFile } from "../copy/file-place.ts";
import { moveDatabase } from "../copy/move-database.ts";
import type { Place } from "../copy/place.ts";
import { checksumTables, copyRows, type Row } from "../copy/rows.ts";
import { presentTables, type Table } from "../copy/tables.ts";
import { fillTables, madeRows } from "../testing/made-rows.ts";
import { openPostgres } from "./open.ts";
import { createPostgresPlace } from "./postgres-place.ts";
import { openSession } from "./pool.ts";

/** Copies whole databases between SQLite and PostgreSQL. */

const server = process.env["TEST_POSTGRES_URL"];
const plainTurns = () => ({ run: <T>(work: () => Promise<T>) => work() });

describe.skipIf(server === undefined)("a database of PostgreSQL", () => {
  let tables: Table[];
  let folder: string;
  let name: string;
  let address = { url: "", directUrl: "", connections: 2 };
  let file: Place;
  let postgres: Place;
  let release: () => Promise<void>;
  const administer = async (sql: string): Promise<void> => {
    const session = await openSession({ directUrl: server ?? "" });
    await session.query(sql);
    await session.end();
  };
  beforeAll(async () => {
    tables = await presentTables();
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "tidemark-rows-"));
    name = `rows_${process.pid}_${Date.now()}`;
    await administer(`CREATE DATABASE "${name}"`);
    const url = new URL(server ?? "");
    url.pathname = `/${name}`;
    address = { ...address, url: url.href, directUrl: url.href };
    file = createFilePlace(folder, "hub.db");
    postgres = createPostgresPlace(address, { waitMs: 0, onTaken: () => undefined });
    release = await postgres.lock();
  });
  afterEach(async () => {
    await release();
    await administer(`DROP DATABASE "${name}" WITH (FORCE)`);
    await rm(folder, { recursive: true, force: true });
  });

  const move = (from: Place, to: Place) =>
    moveDatabase({ from, to, now: 0, prepare: () => Promise.resolve(), keepAs: join(folder, "kept.db") });
  const contentOf = (place: Place) => place.read((source) => checksumTables(source, tables));
  const session = async <Found extends object>(sql: string): Promise<Found[]> => {
    const one = await openSession(address);
    try {
      return (await one.query<Found>(sql)).rows;
    } finally {
      await one.end();
    }
  };

  test("takes every table there and back, identical by hash, and goes on with the numbers of both", async () => {
    await fillFile(
      file.name,
      async (target) => {
        await fillTables(target, tables, 30);
        await target.writeNumbers(tables, new Map([["Event", 90]]));
      },
      null,
    );
    const before = await contentOf(file);
    expect((await move(file, postgres)).tables).toEqual(before);
    expect(await contentOf(postgres)).toEqual(before);
    const open = () => openPostgres(address, { turns: plainTurns, lock: null });
    const { db, close } = await open();
    const data = { at: new Date(0), kind: "test", work: "moving", text: "the next one" };
    expect((await db.event.create({ data })).id).toBe(91);
    expect((await db.audit.create({ data: { at: new Date(0), actor: "a", action: "b", subject: "c" } })).id).toBe(31);
    await db.event.delete({ where: { id: 91 } });
    await close();
    const after = await contentOf(postgres);

    expect(await move(postgres, file)).toMatchObject({ tables: after, keptAt: join(folder, "kept.db") });
    expect(await contentOf(file)).toEqual(after);
    expect((await file.read((source) => source.readNumbers(tables))).get("Event")).toBe(91);
    await expect(open()).rejects.toMatchObject({
      code: "DATABASE_MOVED",
      message: expect.stringContaining(`moved to ${file.name}`) as string,
    });
    // And there again, over what is older there.
    expect((await move(file, postgres)).tables).toEqual(after);
  });

  test("keeps the extremes of every kind", async () => {
    const named = (one: string): Table => {
      const found = tables.find((table) => table.name === one);
      if (found === undefined) throw new Error(`no table ${one}`);
      return found;
    };
    const varied = (table: Table, column: string, cells: Row): Row[] => {
      const at = table.columns.findIndex((one) => one.name === column);
      return cells.map((cell, index) => madeRows(table, index + 1)[index]?.with(at, cell) ?? []);
    };
    const [benchmark, price, minute, event] = ["Benchmark", "NodePrice", "HistoryMinute", "Event"].map(named);
    if (!benchmark || !price || !minute || !event) throw new Error("a table is missing");
    const written: [Table, Row[]][] = [
      [benchmark, varied(benchmark, "seed", ["9223372036854775807", "-9223372036854775808", 9_007_199_254_740_991, 0])],
      [price, varied(price, "perHour", [0.1 + 0.2, 5e-324, 1.7976931348623157e308, -0.5, 3])],
      [minute, varied(minute, "body", ["", Buffer.alloc(70_000, 0xfe).toString("base64")])],
      [event, varied(event, "at", [-62_135_596_800_000, 8_640_000_000_000_000, 1_700_000_000_123, -1])],
      [named("Audit"), varied(named("Audit"), "subject", ["", "é\u{1F30A}\\\n\t'\"\u0001", "x".repeat(100_000)])],
    ];
    await fillFile(
      file.name,
      async (target) => {
        for (const [table, rows] of written) await target.write(table, rows);
      },
      null,
    );
    const before = await contentOf(file);
    expect((await move(file, postgres)).tables).toEqual(before);
    await postgres.read(async (source) => {
      for (const [table, rows] of written) {
        const read: Row[] = [];
        for await (const some of source.read(table)) read.push(...some);
        expect(read).toEqual(rows);
      }
    });
    expect((await move(postgres, file)).tables).toEqual(before);
  });

  test("is as it was when a copy into it fails, and is left alone when a hub has it or its data is another's", async () => {
    await fillFile(file.name, (target) => fillTables(target, tables, 3), null);
    const failing = file.read((source) =>
      postgres.replace({
        tables,
        fill: async (target) => {
          await copyRows({ from: source, to: target, tables });
          throw new Error("killed");
        },
        mark: null,
        keepAs: null,
      }),
    );
    await expect(failing).rejects.toThrow("killed");
    expect(await postgres.hasRows(tables)).toBe(false);

    const second = createPostgresPlace(address, { waitMs: 0, onTaken: () => undefined });
    await expect(second.lock()).rejects.toMatchObject({ code: "DATABASE_IN_USE" });
    await session(`INSERT INTO "LinkPolicy" ("id", "version", "setAt", "setBy") VALUES (1, 1, now(), 'somebody')`);
    await expect(move(file, postgres)).rejects.toMatchObject({ code: "BAD_INPUT" });
    expect(await session(`SELECT "setBy" FROM "LinkPolicy"`)).toEqual([{ setBy: "somebody" }]);
  });

  test("is named when it is not there, without its password", async () => {
    const url = new URL(address.directUrl);
    Object.assign(url, { pathname: "/missing", password: "planted-word" });
    const missing = createPostgresPlace({ ...address, directUrl: url.href }, { waitMs: 0, onTaken: () => undefined });
    const error: unknown = await missing.lock().catch((one: unknown) => one);
    expect(error).toMatchObject({ code: "DATABASE_UNREACHABLE" });
    expect(String(error)).toContain("/missing: ");
    expect(String(error)).toContain('database "missing" does not exist');
    expect(String(error)).not.toContain("planted-word");
  });

  test("is read in one state while a hub writes", async () => {
    await fillFile(file.name, (target) => fillTables(target, tables, 3), null);
    await move(file, postgres);
    const before = await contentOf(postgres);
    const seen = await postgres.read(async (source) => {
      await checksumTables(source, tables.slice(0, 1));
      await session(`UPDATE "Audit" SET "subject" = 'changed meanwhile'`);
      return checksumTables(source, tables);
    });
    expect(seen).toEqual(before);
    expect(await contentOf(postgres)).not.toEqual(before);
  });
});

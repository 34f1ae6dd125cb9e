import { randomUUID } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openAlone, openDatabase, type Database, type OpenedDatabase } from "#prisma/open.ts";
import { openPostgres } from "#prisma/postgres/open.ts";
import { openSession } from "#prisma/postgres/pool.ts";
import { folderForTests } from "#storage/testing/spawn-store.ts";
import { createCallerTurns } from "../platform/caller-turns.ts";
import type { HubSettings } from "../platform/env.ts";

/**
 * For tests: databases of the present schema. SQLite, or PostgreSQL where TEST_POSTGRES_URL names a server. The migrations run
 * once in a process; each database is a copy.
 */

const server = process.env["TEST_POSTGRES_URL"] ?? null;

/** For tests of what only one of the two databases does. */
export const isPostgres = server !== null;

export interface TestDatabase {
  settings: Pick<HubSettings, "postgres">;
  drop: () => Promise<void>;
}

let migrated: Promise<Buffer> | null = null;
async function migrateFile(): Promise<Buffer> {
  const folder = await folderForTests("tidemark-schema-");
  const file = join(folder, "hub.db");
  const { close } = await openAlone(file);
  await close();
  const bytes = await readFile(file);
  await rm(folder, { recursive: true, force: true });
  return bytes;
}

const CONNECTIONS = 6;

function placeOf(url: string, database: string): NonNullable<HubSettings["postgres"]> {
  const address = new URL(url);
  address.pathname = `/${database}`;
  return { url: address.href, directUrl: address.href, connections: CONNECTIONS };
}

/** Runs one statement on the server, outside of the databases of the tests. */
async function administer(url: string, sql: string): Promise<void> {
  const session = await openSession({ directUrl: url });
  try {
    await session.query(sql);
  } finally {
    await session.end();
  }
}

const newName = (kind: string): string => `${kind}_${randomUUID().replaceAll("-", "")}`;

let template: Promise<string> | null = null;
async function makeTemplate(url: string): Promise<string> {
  const name = newName("template");
  await administer(url, `CREATE DATABASE "${name}"`);
  const { close } = await openPostgres(placeOf(url, name), { turns: createCallerTurns, lock: null });
  await close();
  return name;
}

/** Makes a database for a hub with this data folder. */
export async function makeTestDatabase(folder: string): Promise<TestDatabase> {
  if (server === null) {
    await writeFile(join(folder, "hub.db"), await (migrated ??= migrateFile()), { mode: 0o600 });
    return { settings: { postgres: null }, drop: () => Promise.resolve() };
  }
  const name = newName("hub");
  await administer(server, `CREATE DATABASE "${name}" TEMPLATE "${await (template ??= makeTemplate(server))}"`);
  return {
    settings: { postgres: placeOf(server, name) },
    drop: () => administer(server, `DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`),
  };
}

/** Opens a database of its own without a hub, for callers in turns. */
export async function openTestDatabase(): Promise<OpenedDatabase> {
  if (server === null) return openDatabase(":memory:", { turns: createCallerTurns() });
  const folder = await folderForTests("tidemark-database-");
  const { settings, drop } = await makeTestDatabase(folder);
  if (settings.postgres === null) throw new Error("a database of PostgreSQL was expected");
  const { db, close } = await openPostgres(settings.postgres, { turns: createCallerTurns, lock: null });
  return {
    db,
    close: async () => {
      await close();
      await drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Refused {
  table: string;
  change: "UPDATE" | "DELETE";
  /** A condition on `OLD`; default: all rows. */
  rows?: string;
}

/** Makes the database refuse a change of some rows. Returns what ends that. */
export async function refuseChange(db: Database, { table, change, rows = "1 = 1" }: Refused) {
  if (!isPostgres) {
    await db.$executeRawUnsafe(
      `CREATE TRIGGER "refuse" BEFORE ${change} ON "${table}" WHEN ${rows} BEGIN SELECT RAISE(ABORT, 'refused'); END`,
    );
    return () => db.$executeRawUnsafe(`DROP TRIGGER "refuse"`);
  }
  await db.$executeRawUnsafe(
    `CREATE FUNCTION "refuse"() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; END'`,
  );
  await db.$executeRawUnsafe(
    `CREATE TRIGGER "refuse" BEFORE ${change} ON "${table}" FOR EACH ROW WHEN (${rows}) EXECUTE FUNCTION "refuse"()`,
  );
  return () => db.$executeRawUnsafe(`DROP TRIGGER "refuse" ON "${table}"`);
}

/** Returns every column with text of every table. */
export function textColumns(db: Database): Promise<{ table: string; name: string }[]> {
  if (!isPostgres) {
    return db.$queryRaw`SELECT m.name AS "table", c.name AS "name" FROM sqlite_master m JOIN pragma_table_info(m.name) c
      WHERE m.type = 'table' AND c.type = 'TEXT' AND m.name GLOB '[A-Z]*'`;
  }
  return db.$queryRaw`SELECT table_name AS "table", column_name AS "name" FROM information_schema.columns
    WHERE table_schema = 'public' AND data_type = 'text' AND table_name ~ '^[A-Z]'`;
}

/** Returns all that the database keeps as one text: its files, or every text of PostgreSQL. */
export async function readStored({ hub, folder }: { hub: { db: Database }; folder: string }): Promise<string> {
  if (!isPostgres) {
    const files = ["hub.db", "hub.db-wal"].map((name) => readFile(join(folder, name), "latin1"));
    return (await Promise.all(files)).join("\n");
  }
  const texts: string[] = [];
  for (const { table, name } of await textColumns(hub.db)) {
    const sql = `SELECT string_agg("${name}", ' ') AS "text" FROM "${table}"`;
    const rows = await hub.db.$queryRawUnsafe<{ text: string | null }[]>(sql);
    texts.push(rows[0]?.text ?? "");
  }
  return texts.join("\n");
}

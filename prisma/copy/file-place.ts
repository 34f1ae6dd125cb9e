import { access, chmod, copyFile, link, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { migrate, readMigrations, textOf } from "../migrate.ts";
import { checkDatabase, nameFinished, openFile, syncFile, syncFolder, unfinishedName } from "../snapshot.ts";
import type { SqlClient } from "../connection.ts";
import { markStatements, readMark, type MoveMark, type RunSql } from "./move-mark.ts";
import type { Place } from "./place.ts";
import { copyRows, type RowTarget } from "./rows.ts";
import { openForRows, readSqliteRows, writeSqliteRows } from "./sqlite-rows.ts";
import { presentTables } from "./tables.ts";

/** The database file of a data folder, and new files with the rows of another database. */

export const existsFile = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

/** Returns what runs statements for `readMark`. */
export const runOn =
  (client: Pick<SqlClient, "execute">): RunSql =>
  async (sql) =>
    (await client.execute(sql)).rows;

async function withClient<T>(open: Promise<SqlClient>, work: (client: SqlClient) => Promise<T>): Promise<T> {
  const client = await open;
  try {
    return await work(client);
  } finally {
    client.close();
  }
}

/** Returns the mark of a file that is no open hub's; null without one, or without a file. */
export async function readFileMark(file: string): Promise<MoveMark | null> {
  if (!(await existsFile(file))) return null;
  return withClient(openFile(file), (client) => readMark(runOn(client), "sqlite"));
}

/**
 * Gives the present database a second name, with its write-ahead log merged in; a database that cannot be opened keeps its log.
 * Without a second name only its log goes: SQLite would apply it to the file that takes its place.
 */
export async function setAside(database: string, aside: string | null): Promise<void> {
  const client = await openFile(database);
  try {
    await client.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // A damaged database is kept as it is.
  } finally {
    client.close();
  }
  if (aside !== null) await link(database, aside).catch(() => copyFile(database, aside));
  const wal = await stat(`${database}-wal`).catch(() => null);
  if (aside !== null && wal !== null && wal.size > 0) await rename(`${database}-wal`, `${aside}-wal`);
  else await rm(`${database}-wal`, { force: true });
  await rm(`${database}-shm`, { force: true });
}

/**
 * Makes a new file with the present schema and the rows that `fill` writes; only its owner can read it. It has passed SQLite's
 * own check and is on the disk when this resolves. `file` is no final name: a killed process leaves a part of it.
 * @throws DamagedDatabase, and what `fill` throws
 */
export async function fillFile<T>(
  file: string,
  fill: (target: RowTarget) => Promise<T>,
  mark: MoveMark | null,
): Promise<T> {
  const result = await withClient(openForRows(file), async (client) => {
    await chmod(file, 0o600);
    // Nobody reads the file before it is whole, so it needs no journal.
    await client.execute("PRAGMA journal_mode = OFF");
    await client.execute("PRAGMA synchronous = OFF");
    await migrate(client, await readMigrations());
    await client.execute("PRAGMA foreign_keys = OFF");
    await client.execute("BEGIN");
    const filled = await fill(writeSqliteRows(client));
    for (const statement of mark === null ? [] : markStatements(mark)) await client.execute(statement);
    await client.execute("COMMIT");
    return filled;
  });
  await checkDatabase(file);
  await syncFile(file);
  return result;
}

/** Removes what killed moves and restores left of the file. The caller holds the folder. */
async function sweepStaged(file: string): Promise<void> {
  const folder = dirname(file);
  const isStaged = (name: string) => name.startsWith(`.${basename(file)}.`) && name.includes(".unfinished");
  for (const name of (await readdir(folder)).filter(isStaged)) await rm(join(folder, name), { force: true });
}

/** Returns the database file of a data folder, which need not exist. `file` is its name in the folder. */
export function createFilePlace(folder: string, name: string): Place {
  const file = join(folder, name);
  return {
    name: file,
    folder,
    lock: () => Promise.resolve(() => Promise.resolve()),
    exists: () => existsFile(file),
    readMark: () => readFileMark(file),
    writeMark: (mark) =>
      withClient(openFile(file), async (client) => {
        await client.execute("PRAGMA synchronous = FULL");
        await client.execute("BEGIN IMMEDIATE");
        for (const statement of markStatements(mark)) await client.execute(statement);
        await client.execute("COMMIT");
        await client.execute("PRAGMA wal_checkpoint(TRUNCATE)");
      }),
    hasRows: async (tables) => {
      if (!(await existsFile(file))) return false;
      return withClient(openFile(file), async (client) => {
        const { rows } = await client.execute("SELECT name FROM sqlite_master WHERE type = 'table'");
        const there = new Set(rows.map((row) => textOf(row[0])));
        for (const { name } of tables) {
          if (!there.has(name)) continue;
          if ((await client.execute(`SELECT 1 FROM "${name}" LIMIT 1`)).rows.length > 0) return true;
        }
        return false;
      });
    },
    read: (work) =>
      withClient(openForRows(file), async (client) => {
        await client.execute("BEGIN");
        try {
          return await work(readSqliteRows(client));
        } finally {
          // Closing releases the lock only when the handle is garbage-collected.
          await client.execute("COMMIT");
        }
      }),
    replace: async ({ fill, mark, keepAs }) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await sweepStaged(file);
      const staged = unfinishedName(file);
      try {
        const result = await fillFile(staged, fill, mark);
        if (await existsFile(file)) await setAside(file, keepAs);
        await rename(staged, file);
        await syncFolder(folder);
        return result;
      } finally {
        await rm(staged, { force: true });
      }
    },
  };
}

/**
 * Copies a database to the new file `to`, in one consistent state and compared by hash. The hub may be running.
 * @throws DamagedDatabase, MigrationRefused; Fault DATABASE_COPY_DIFFERS; errors of the disk
 */
export async function snapshotPlace(place: Place, to: string): Promise<void> {
  const tables = await presentTables();
  const unfinished = unfinishedName(to);
  try {
    await place.read((from) => fillFile(unfinished, (target) => copyRows({ from, to: target, tables }), null));
    await nameFinished(unfinished, to);
  } finally {
    await rm(unfinished, { force: true });
  }
}

import { PrismaLibSql } from "@prisma/adapter-libsql";
import { randomUUID } from "node:crypto";
import { chmod, link, open, readdir, rename, rm, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { SqlClient } from "./connection.ts";
import { fileUrl } from "./file-url.ts";

/**
 * Copies a database that other processes may be writing. The copy is one consistent state, is checked before it gets its
 * name, and is readable by its owner only. `VACUUM INTO` reads in one transaction and blocks no writer. The copy is one file
 * without a log. The final name holds a whole copy or nothing, however the process ends.
 */

export class DamagedDatabase extends Error {
  constructor(file: string, said: string) {
    super(`${file} is not a whole database: ${said}`);
    this.name = "DamagedDatabase";
  }
}

/** Opens a connection without the hub's settings, so that opening the file changes nothing in it. */
export async function openFile(file: string): Promise<SqlClient> {
  const url = fileUrl(file);
  const client = new PrismaLibSql({ url }).createClient({ url });
  await client.execute("PRAGMA busy_timeout = 30000");
  return client;
}

/** Flushes the directory entries of a folder to the disk (fsync). */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export async function syncFile(file: string): Promise<void> {
  const handle = await open(file, "r+");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** @throws DamagedDatabase */
export async function checkDatabase(file: string): Promise<void> {
  try {
    const client = await openFile(file);
    try {
      const { rows } = await client.execute("PRAGMA integrity_check(3)");
      const said = rows.map((row) => (typeof row[0] === "string" ? row[0] : ""));
      if (said.join() !== "ok") throw new DamagedDatabase(file, said.join("; "));
      const broken = await client.execute("PRAGMA foreign_key_check");
      if (broken.rows.length > 0) throw new DamagedDatabase(file, "rows that refer to others that are missing");
    } finally {
      client.close();
    }
  } catch (error) {
    // SQLite itself reports that a file is damaged or no database.
    const isVerdict = error instanceof Error && "code" in error && /^SQLITE_(CORRUPT|NOTADB)/.test(String(error.code));
    throw isVerdict ? new DamagedDatabase(file, error.message) : error;
  }
}

const UNFINISHED = /\.unfinished(-journal|-wal|-shm)?$/;
/** An unfinished file that was not written for this long belongs to a process that was killed. */
const ABANDONED_AFTER_MS = 3_600_000;

/** Removes the files that killed copies left behind. */
export async function sweepUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!UNFINISHED.test(name)) continue;
    const file = join(folder, name);
    const stats = await stat(file).catch(() => null);
    if (stats !== null && Date.now() - stats.mtimeMs > ABANDONED_AFTER_MS) await rm(file, { force: true });
  }
}

/** Returns the temporary name under which `file` is written. */
export const unfinishedName = (file: string): string =>
  join(dirname(file), `.${basename(file)}.${randomUUID().slice(0, 8)}.unfinished`);

/** Renames a finished file to its final name and never overwrites an existing one. @throws an error with code EEXIST */
export async function nameFinished(unfinished: string, file: string): Promise<void> {
  await syncFile(unfinished);
  try {
    await link(unfinished, file);
    await unlink(unfinished);
  } catch (error) {
    // This file system has no hard links.
    if (!(error instanceof Error && "code" in error && (error.code === "EPERM" || error.code === "ENOTSUP")))
      throw error;
    await rename(unfinished, file);
  }
  await syncFolder(dirname(file));
}

/**
 * Copies the database `from` to the new file `to`.
 * @throws DamagedDatabase when the copy fails SQLite's own check; errors of the disk
 */
export async function snapshotDatabase(from: string, to: string): Promise<void> {
  const unfinished = unfinishedName(to);
  const client = await openFile(from);
  try {
    await client.execute({ sql: "VACUUM INTO ?", args: [unfinished] });
    await chmod(unfinished, 0o600);
    await checkDatabase(unfinished);
    await nameFinished(unfinished, to);
  } finally {
    client.close();
    await rm(unfinished, { force: true });
  }
}

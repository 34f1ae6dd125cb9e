import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { Fault } from "#protocol/faults/fault.ts";
import { PRODUCT_VERSION } from "#protocol/base/version.ts";
import { snapshotPlace } from "#prisma/copy/file-place.ts";
import { assertHere } from "#prisma/copy/move-mark.ts";
import {
  checkDatabase,
  DamagedDatabase,
  nameFinished,
  openFile,
  snapshotDatabase,
  sweepUnfinished,
  unfinishedName,
} from "#prisma/snapshot.ts";
import { timeInName } from "#prisma/upgrade.ts";
import { DATABASE, openPlace, type DatabaseAt } from "./open-place.ts";

/**
 * Takes backups: one file with everything that the hub knows, copied while it works. It is a file of SQLite for either database, so
 * that it can be restored into either, also by a later version. Sealed secrets stay sealed. The master key
 * is not in the database and so never in a backup, which therefore opens no bucket by itself.
 */

const BACKUP = /^tidemark-hub-\d{8}T\d{9}Z-v[^/]+\.db(\.gz)?$/;

export interface BackupOptions extends DatabaseAt {
  /** Target folder; created when missing. */
  to: string;
  /** Number of backups to keep in `to`, including this one; null keeps all. */
  keep: number | null;
  compress: "gzip" | "none";
  /** Epoch ms. */
  now: number;
}

export interface Backup {
  file: string;
  sizeBytes: number;
  tookMs: number;
  /** Older backups that were removed because of `keep`. */
  removed: string[];
}

/** Returns whether a file name is that of a backup. */
export const isBackupName = (name: string): boolean => BACKUP.test(name);

const nothing = () => new Writable({ write: (_chunk, _encoding, done) => done() });

async function compress(from: string, to: string): Promise<void> {
  const unfinished = unfinishedName(to);
  try {
    await pipeline(createReadStream(from), createGzip(), createWriteStream(unfinished, { mode: 0o600 }));
    // The CRC in the gzip file verifies that it can be read back.
    await pipeline(createReadStream(unfinished), createGunzip(), nothing());
    await nameFinished(unfinished, to);
  } finally {
    await rm(unfinished, { force: true });
  }
}

/** Records the backup in the database, so that the pages show when the last one was made. */
async function record(options: BackupOptions, backup: Backup): Promise<void> {
  const result = JSON.stringify({ file: backup.file, sizeBytes: backup.sizeBytes });
  const [startedAt, endedAt] = [options.now, options.now + backup.tookMs];
  if (options.postgres !== null) {
    const { openSession } = await import("#prisma/postgres/pool.ts");
    const session = await openSession(options.postgres);
    const text = `INSERT INTO "UpkeepRun" ("kind", "startedAt", "endedAt", "result") VALUES ('backup', $1, $2, $3)`;
    const values = [new Date(startedAt).toISOString(), new Date(endedAt).toISOString(), result];
    try {
      await session.query(text, values);
    } finally {
      await session.end();
    }
    return;
  }
  const client = await openFile(join(options.dataFolder, DATABASE));
  try {
    const { rows } = await client.execute(`SELECT 1 FROM sqlite_master WHERE name = 'UpkeepRun'`);
    if (rows.length === 0) return;
    await client.execute({
      sql: `INSERT INTO "UpkeepRun" ("kind", "startedAt", "endedAt", "result") VALUES ('backup', ?, ?, ?)`,
      args: [startedAt, endedAt, result],
    });
  } finally {
    client.close();
  }
}

/** Returns what copies the database to a new file. @throws Fault NOT_FOUND, DATABASE_MOVED */
async function copierOf(options: BackupOptions): Promise<(to: string) => Promise<void>> {
  const place = await openPlace(options, () => undefined);
  if (!(await place.exists()))
    throw new Fault("NOT_FOUND", { op: "backup", subject: place.name, detail: "there is no hub's database there" });
  assertHere(await place.readMark());
  // A file is copied as it is, also one of another version.
  if (options.postgres === null) return (to) => snapshotDatabase(place.name, to);
  return (to) => snapshotPlace(place, to);
}

async function prune(folder: string, keep: number): Promise<string[]> {
  const names = (await readdir(folder)).filter(isBackupName).toSorted();
  const old = names.slice(0, Math.max(0, names.length - Math.max(1, keep)));
  for (const name of old) await rm(join(folder, name), { force: true });
  return old;
}

/**
 * Takes a backup, also while a hub runs on the folder and writes.
 * @throws Fault NOT_FOUND without a database, DATABASE_MOVED, FOLDER_UNWRITABLE, NO_SPACE, BACKUP_DAMAGED when the copy is not whole
 */
export async function backUp(options: BackupOptions): Promise<Backup> {
  const startedAt = performance.now();
  const copy = await copierOf(options);
  try {
    await mkdir(options.to, { recursive: true, mode: 0o700 });
    await sweepUnfinished(options.to);
    const name = `tidemark-hub-${timeInName(options.now)}-v${PRODUCT_VERSION}.db`;
    const plain = join(options.to, name);
    let file = plain;
    if (options.compress === "none") await copy(plain);
    else {
      file = `${plain}.gz`;
      const raw = unfinishedName(plain);
      try {
        await copy(raw);
        await compress(raw, file);
      } finally {
        await rm(raw, { force: true });
      }
    }
    const removed = options.keep === null ? [] : await prune(options.to, options.keep);
    const { size: sizeBytes } = await stat(file);
    const backup = { file, sizeBytes, tookMs: Math.round(performance.now() - startedAt), removed };
    await record(options, backup);
    return backup;
  } catch (error) {
    throw backupFault(error, options.to);
  }
}

/** Turns an error of the system or of SQLite during a copy into a Fault; returns other errors as they are. */
export function backupFault(error: unknown, subject: string): unknown {
  const code = error instanceof Error && "code" in error ? error.code : null;
  if (error instanceof DamagedDatabase) {
    return new Fault("BACKUP_DAMAGED", { subject, detail: error.message, cause: error });
  }
  if (code === "ENOSPC" || code === "SQLITE_FULL")
    return new Fault("NO_SPACE", { op: "backup", subject, cause: error });
  if (code === "EACCES" || code === "EPERM" || code === "EROFS" || code === "ENOTDIR" || code === "SQLITE_CANTOPEN") {
    return new Fault("FOLDER_UNWRITABLE", { op: "backup", subject, cause: error });
  }
  if (code === "Z_DATA_ERROR" || code === "Z_BUF_ERROR") {
    return new Fault("BACKUP_DAMAGED", { subject, detail: "it cannot be decompressed", cause: error });
  }
  return error;
}

/** Checks the integrity of a database file. @throws Fault BACKUP_DAMAGED */
export async function requireWhole(file: string, subject: string): Promise<void> {
  await checkDatabase(file).catch((error: unknown) => {
    throw backupFault(error, subject);
  });
}

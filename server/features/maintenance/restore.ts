import { createReadStream, createWriteStream } from "node:fs";
import { chmod, mkdir, rename, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { createFilePlace, existsFile, setAside, snapshotPlace } from "#prisma/copy/file-place.ts";
import type { Place } from "#prisma/copy/place.ts";
import { copyRows } from "#prisma/copy/rows.ts";
import { presentTables } from "#prisma/copy/tables.ts";
import { holdFolder } from "#prisma/hold-folder.ts";
import { openAlone } from "#prisma/open.ts";
import { openFile, syncFile, syncFolder, sweepUnfinished, unfinishedName } from "#prisma/snapshot.ts";
import { timeInName } from "#prisma/upgrade.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { recordEvent } from "#server/core/events/record-event.ts";
import { backupFault, isBackupName, requireWhole } from "./back-up.ts";
import { DATABASE, LOCK_WAIT_MS, openPlace, type DatabaseAt } from "./open-place.ts";

/**
 * Replaces the database by a backup. Everything is prepared in the data folder first; then one rename decides, or one transaction
 * of PostgreSQL. Before it the hub starts with the old database, after it with the restored one; the old database stays in the
 * data folder under its own name. The
 * restored database is marked as incomplete: the hub reads the buckets before any node may write, and deletes nothing until a
 * person confirms. All sessions end.
 */

export interface RestoreOptions extends DatabaseAt {
  /** Path of the backup. */
  from: string;
  /** Epoch ms. */
  now: number;
}

export interface Restored {
  /** Path of the former database, or of a copy of it; null when there was none. */
  keptAt: string | null;
  /** Time of the backup, epoch ms, by its name or its file. */
  asOf: number;
  runs: number;
  checkpoints: number;
}

const keptName = (dataFolder: string, now: number): string =>
  join(dataFolder, `hub-${timeInName(now)}-before-restore.db`);

/** Returns the time in the name of a backup, otherwise that of the file. */
async function takenAt(file: string): Promise<number> {
  const match = /-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-/.exec(basename(file));
  if (match !== null && isBackupName(basename(file))) {
    const [, year, month, day, hour, minute, second, ms] = match;
    return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`);
  }
  return (await stat(file)).mtimeMs;
}

async function unpack(from: string, to: string): Promise<void> {
  const out = createWriteStream(to, { mode: 0o600 });
  if (from.endsWith(".gz")) await pipeline(createReadStream(from), createGunzip(), out);
  else await pipeline(createReadStream(from), out);
}

/** Marks the copy as restored, with an event and an audit entry. Returns its counts. */
async function mark(file: string, at: { now: number; asOf: number }): Promise<{ runs: number; checkpoints: number }> {
  const { db, close } = await openAlone(file);
  try {
    const now = new Date(at.now);
    const asOf = new Date(at.asOf);
    return await db.$transaction(async (tx) => {
      await tx.doubt.create({ data: { kind: "restored", at: now, asOf } });
      await tx.run.updateMany({ data: { highestSeen: null } });
      await tx.session.deleteMany();
      const text = `The hub was restored from a backup of ${asOf.toISOString()}`;
      await recordEvent(tx, { at: at.now, kind: "upkeep", work: "risk", text });
      const entry = { action: "restore backup", subject: asOf.toISOString() };
      await tx.audit.create({ data: { at: now, actor: "command line", ...entry } });
      const checkpoints = await tx.checkpoint.count({ where: { state: "complete" } });
      return { runs: await tx.run.count(), checkpoints };
    });
  } finally {
    await close();
  }
}

/** Puts the staged file in the place of the database file. Returns the path of the former one. */
async function replaceFile(staged: string, { dataFolder, now }: RestoreOptions): Promise<string | null> {
  const database = join(dataFolder, DATABASE);
  let keptAt: string | null = null;
  if (await existsFile(database)) {
    keptAt = keptName(dataFolder, now);
    await setAside(database, keptAt);
  }
  await rename(staged, database);
  await syncFolder(dataFolder);
  return keptAt;
}

/** Replaces the rows of PostgreSQL by those of the staged file, in one transaction. Returns the path of a copy of the former ones. */
async function replaceRows(staged: string, place: Place, { dataFolder, now }: RestoreOptions): Promise<string | null> {
  const tables = await presentTables();
  let keptAt: string | null = null;
  if (await place.hasRows(tables)) {
    keptAt = keptName(dataFolder, now);
    await snapshotPlace(place, keptAt);
  }
  await createFilePlace(dataFolder, basename(staged)).read((from) =>
    place.replace({ tables, fill: (to) => copyRows({ from, to, tables }), mark: null, keepAs: null }),
  );
  return keptAt;
}

/**
 * Restores a backup, of either database into either.
 * @throws Fault FOLDER_IN_USE or DATABASE_IN_USE while a hub runs, NOT_FOUND, BACKUP_DAMAGED, NO_SPACE, FOLDER_UNWRITABLE
 * @throws MigrationRefused when the backup was made by a newer version
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { from, dataFolder, postgres, now } = options;
  if (!(await existsFile(from))) throw new Fault("NOT_FOUND", { op: "restore", subject: from });
  await mkdir(dataFolder, { recursive: true, mode: 0o700 });
  let taken: Fault | null = null;
  const onTaken = (fault: Fault) => (taken = fault);
  const unlockFolder = await holdFolder(dataFolder, { waitMs: LOCK_WAIT_MS, onTaken });
  const place = await openPlace(options, onTaken);
  const unlock = await place.lock().catch(async (error: unknown) => {
    await unlockFolder();
    throw error;
  });
  const staged = unfinishedName(join(dataFolder, DATABASE));
  try {
    await sweepUnfinished(dataFolder);
    await unpack(from, staged);
    await requireHubs(staged, from);
    const asOf = await takenAt(from);
    const counts = await mark(staged, { now, asOf });
    await chmod(staged, 0o600);
    await syncFile(staged);
    if (taken !== null) throw taken as Fault;
    const keptAt = await (postgres === null ? replaceFile(staged, options) : replaceRows(staged, place, options));
    return { keptAt, asOf, ...counts };
  } catch (error) {
    throw backupFault(error, from);
  } finally {
    for (const rest of ["", "-wal", "-shm", "-journal"]) await rm(staged + rest, { force: true });
    await unlock();
    await unlockFolder();
  }
}

/** Checks that a file is a hub's database. @throws Fault BACKUP_DAMAGED when it is damaged, or another program's */
async function requireHubs(staged: string, from: string): Promise<void> {
  await requireWhole(staged, from);
  const client = await openFile(staged);
  try {
    const { rows } = await client.execute(
      `SELECT count(*) FROM sqlite_master WHERE name IN ('_prisma_migrations', 'Canary', 'Run')`,
    );
    if (Number(rows[0]?.[0]) !== 3) {
      throw new Fault("BACKUP_DAMAGED", { subject: from, detail: "it is not the database of a hub" });
    }
  } finally {
    client.close();
  }
}

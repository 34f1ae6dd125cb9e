import { constants, mkdir, open, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as rest } from "node:timers/promises";
import type * as z from "zod";
import { toFault } from "#protocol/faults/fault.ts";
import { removeOwned, renameOwned } from "./disk/change-disk.ts";
import { diskFault } from "./disk-fault.ts";
import { lineOf, readLines, readRecord, type OnRecord } from "./journal-lines.ts";

/**
 * An append-only file of JSON lines that survives kill -9 and power loss: `append` resolves when the line is on disk. Every
 * line carries the CRC32 of its JSON. Reading stops at the first line that is cut short or damaged. The bytes from there on can
 * only be the torn tail of the last write, and are cut off before the next append. The rest of a failed write (a full disk) is
 * cut off too, or everything acknowledged after it would be lost. Simultaneous appends share one fsync; sequential ones wait a
 * moment for each other, so that thousands of small files need few.
 */
export interface Journal<T> {
  /** Returns the records found at opening, in order, and forgets them. Empty when `onRecord` has received them. */
  takeRecords(): T[];
  /** Returns the record at an offset that `onRecord` received; null when there is none. Faults: READ_FAILED. */
  recordAt(at: number): T | null;
  /** Resolves when the record is on disk. Faults: NO_SPACE, WRITE_FAILED. */
  append(record: T): Promise<void>;
  /** Appends many records in one write, like `append`. */
  appendAll(added: readonly T[]): Promise<void>;
  /**
   * Atomically replaces everything by what `kept` returns when its turn comes. A record appended just before may occur twice,
   * so a repeated record must mean the same. If the new file cannot be written (a full disk), the old one stays in use: it says
   * the same at more length.
   */
  compact(kept: () => readonly T[]): Promise<void>;
  close(): Promise<void>;
}

const SYNC_EVERY_MS = 20;
/** Limit of folders whose last sync is remembered. */
const MOST_FOLDERS = 4_096;

const { O_RDWR, O_WRONLY, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
/** A symbolic link in its place was not made by this program, and is not written through. */
const APPEND = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW;
const FRESH = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;

/**
 * Opens or creates the journal at `path`. Faults: NO_SPACE, WRITE_FAILED, READ_FAILED.
 */
export async function openJournal<T>(path: string, schema: z.ZodType<T>, onRecord?: OnRecord<T>): Promise<Journal<T>> {
  const records: T[] = [];
  try {
    const keep = (record: T) => void records.push(record);
    return { takeRecords: () => records.splice(0), ...(await start(path, schema, onRecord ?? keep)) };
  } catch (error) {
    throw diskFault(error, { op: "journal", subject: path, otherwise: "WRITE_FAILED" });
  }
}

/** Returns the records of a journal that no process holds; empty when there is none. Faults: READ_FAILED. */
export async function readJournal<T>(path: string, schema: z.ZodType<T>): Promise<readonly T[]> {
  const records: T[] = [];
  try {
    const handle = await open(path, "r");
    try {
      await readLines(handle.fd, { schema, onRecord: (record) => void records.push(record) });
    } finally {
      await handle.close();
    }
  } catch (error) {
    const fault = diskFault(error, { op: "journal", subject: path, otherwise: "READ_FAILED" });
    if (fault.context.detail !== "ENOENT") throw fault;
  }
  return records;
}

async function start<T>(
  path: string,
  schema: z.ZodType<T>,
  onRecord: OnRecord<T>,
): Promise<Omit<Journal<T>, "takeRecords">> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  let handle: FileHandle = await open(path, APPEND, 0o600);
  const { validBytes, bytes } = await readLines(handle.fd, { schema, onRecord });
  if (validBytes < bytes) {
    await handle.truncate(validBytes);
    await handle.datasync();
  }
  if (bytes === 0) await syncFolder(dirname(path));

  let goodBytes = validBytes;
  let isTorn = false;
  let waiting: { lines: string; settle: (error: unknown) => void }[] = [];
  let chain: Promise<void> = Promise.resolve();
  let syncedAt = -Infinity;

  const flush = async () => {
    const earlyMs = syncedAt + SYNC_EVERY_MS - performance.now();
    if (earlyMs > 0) await rest(earlyMs);
    const batch = waiting;
    waiting = [];
    if (batch.length === 0) return;
    const lines = Buffer.from(batch.map((entry) => entry.lines).join(""));
    try {
      if (isTorn) await handle.truncate(goodBytes);
      isTorn = true;
      await handle.appendFile(lines);
      await handle.datasync();
      isTorn = false;
      goodBytes += lines.length;
      for (const entry of batch) entry.settle(null);
    } catch (error) {
      const fault = diskFault(error, { op: "journal", subject: path, otherwise: "WRITE_FAILED" });
      for (const entry of batch) entry.settle(fault);
    }
    syncedAt = performance.now();
  };
  const add = (lines: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const settle = (error: unknown) => (error === null ? resolve() : reject(toFault(error)));
      waiting.push({ lines, settle });
      if (waiting.length === 1) chain = chain.then(flush);
    });
  const replace = async (kept: readonly T[]) => {
    const fresh = `${path}.new`;
    const lines = Buffer.from(kept.map(lineOf).join(""));
    if (!(await writeFresh(fresh, lines))) return;
    await renameOwned("journal", fresh, path);
    const old = handle;
    handle = await open(path, APPEND, 0o600);
    await syncFolder(dirname(path));
    goodBytes = lines.length;
    isTorn = false;
    await old.close();
  };
  return {
    recordAt: (at) => {
      try {
        return readRecord(handle.fd, { schema, at });
      } catch (error) {
        throw diskFault(error, { op: "journal", subject: path, otherwise: "READ_FAILED" });
      }
    },
    append: (record) => add(lineOf(record)),
    appendAll: (added) => add(added.map(lineOf).join("")),
    compact: async (kept) => {
      const done = chain.then(() => replace(kept()));
      chain = done.catch(() => undefined);
      await done;
    },
    close: async () => {
      await chain;
      await handle.close();
    },
  };
}

/** Writes the new file. Returns false, and leaves nothing of it, when that fails. */
async function writeFresh(path: string, lines: Buffer): Promise<boolean> {
  let target: FileHandle | null = null;
  try {
    await removeOwned("journal", path);
    target = await open(path, FRESH, 0o600);
    await target.writeFile(lines);
    await target.datasync();
    return true;
  } catch {
    await removeOwned("journal", path).catch(() => undefined);
    return false;
  } finally {
    await target?.close();
  }
}

/** Makes a rename or a new name in `folder` durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Creates a `syncFolder` for many files of a few folders: requests during a sync, or a moment after it, share the next one. */
export function createFolderSyncs(
  sync: (folder: string) => Promise<void> = syncFolder,
): (folder: string) => Promise<void> {
  const next = new Map<string, Promise<void>>();
  const last = new Map<string, Promise<void>>();
  return (folder) => {
    const waiting = next.get(folder);
    if (waiting !== undefined) return waiting;
    // Forgetting costs only that one sync is not shared.
    if (last.size > MOST_FOLDERS) last.clear();
    const before = last.get(folder);
    const one = async () => {
      if (before !== undefined) await before.catch(() => undefined).then(() => rest(SYNC_EVERY_MS));
      next.delete(folder);
      await sync(folder);
    };
    const mine = one();
    if (before !== undefined) next.set(folder, mine);
    last.set(folder, mine);
    return mine;
  };
}

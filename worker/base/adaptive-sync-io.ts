import {
  close,
  closeSync,
  fdatasync,
  fdatasyncSync,
  fstat,
  fstatSync,
  open,
  openSync,
  utimes,
  utimesSync,
  type BigIntStats,
} from "node:fs";
import { promisify } from "node:util";
import { renameOwned, renameOwnedNow } from "./disk/change-disk.ts";

/**
 * Short calls to the disk. Handing one to another thread and back costs ten times the CPU of the call itself while it is
 * answered from memory, which is nearly always; so it is made at once. After one that had to wait for the disk the next
 * ones are handed over, so that nothing else waits for them.
 */
const SLOW_MS = 3;
const HANDED_OVER = 64;
/** Of many calls that follow each other one is handed over all the same, or nothing else would have a turn. */
const IN_A_ROW = 256;
let toHandOver = 0;
let madeAtOnce = 0;

/** Longer than this nothing else waits for calls made at once that follow each other without an end. */
const MOST_TURN_MS = 20;
let turnBeganAt: number | null = null;

/** Asked before several such calls: everything else is to have its turn first, by `nextTurn`. */
export function isTurnOver(): boolean {
  if (turnBeganAt !== null) return performance.now() - turnBeganAt > MOST_TURN_MS;
  turnBeganAt = performance.now();
  setImmediate(() => {
    turnBeganAt = null;
  });
  return false;
}

export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Either of two ways to do the same. Throws what `now` throws; rejects as `later` does. */
export function atOnce<T>(now: () => T, later: () => Promise<T>): T | Promise<T> {
  if (toHandOver > 0) {
    toHandOver--;
    return later();
  }
  if (++madeAtOnce % IN_A_ROW === 0) return later();
  const startedAt = performance.now();
  const done = now();
  if (performance.now() - startedAt > SLOW_MS) toHandOver = HANDED_OVER;
  return done;
}

/** For calls that read from the disk and do more than that, so that only a long time says that it was the disk. */
export interface DiskSense {
  /** They may be made at once. */
  isQuick(): boolean;
  /** One took so long. */
  took(ms: number): void;
}

const SLOW_WITH_MORE_MS = 12;
export const diskSense: DiskSense = {
  isQuick: () => toHandOver === 0,
  took: (ms) => {
    if (ms > SLOW_WITH_MORE_MS) toHandOver = HANDED_OVER;
  },
};

const [openLater, closeLater, statLater] = [promisify(open), promisify(close), promisify(fstat)];
const setDateLater = promisify(utimes);

/** What follows fails with the errors of the system, as they come. Returns a descriptor. */
export const openFile = async (path: string, flags: number): Promise<number> =>
  atOnce(
    () => openSync(path, flags, 0o644),
    () => openLater(path, flags, 0o644),
  );

/** Only when nothing uses the descriptor any more: its number is given to the next file. */
export const closeFile = async (fd: number): Promise<void> =>
  atOnce(
    () => closeSync(fd),
    () => closeLater(fd),
  );

export const statFile = async (fd: number): Promise<BigIntStats> =>
  atOnce(
    () => fstatSync(fd, { bigint: true }),
    () => statLater(fd, { bigint: true }),
  );

/** Gives a finished download its name. */
export const renameFile = async (from: string, to: string): Promise<void> =>
  atOnce(
    () => renameOwnedNow("download-part", from, to),
    () => renameOwned("download-part", from, to),
  );

/**
 * Makes what was written durable. In memory, or where the disk has a memory that lasts, that takes no time; elsewhere it is waited for on
 * another thread, and tried at once less and less often.
 */
export interface Syncing {
  /** The last one made at once took no time. */
  isQuick(): boolean;
  /** Made at once, whatever that takes. Throws the system's error. */
  atOnce(fd: number): void;
  /** Rejects with the system's error. */
  sync(fd: number): Promise<void>;
}

/** Disks take longer. To hand it over takes a third of that, but now and then this process stands still for so long. */
const SLOW_SYNC_MS = 0.5;
const SYNCS_GROWTH = 8;
const MOST_SYNCS_HANDED_OVER = 32_768;

export function createSyncing(calls: { now(fd: number): void; later(fd: number): Promise<void> }): Syncing {
  let left = 0;
  let next = HANDED_OVER;
  const atOnceNow = (fd: number) => {
    const startedAt = performance.now();
    calls.now(fd);
    if (performance.now() - startedAt < SLOW_SYNC_MS) next = HANDED_OVER;
    else {
      left = next;
      next = Math.min(next * SYNCS_GROWTH, MOST_SYNCS_HANDED_OVER);
    }
  };
  return {
    isQuick: () => left === 0,
    atOnce: atOnceNow,
    sync: async (fd) => {
      if (left === 0) {
        atOnceNow(fd);
        return;
      }
      left--;
      await calls.later(fd);
    },
  };
}

/** Of the disk that files are written to. */
export const fileSyncing = createSyncing({ now: fdatasyncSync, later: promisify(fdatasync) });

/** Date of the last change, and of the last reading: seconds since 1970. */
export const setFileDate = async (path: string, seconds: number): Promise<void> =>
  atOnce(
    () => utimesSync(path, seconds, seconds),
    () => setDateLater(path, seconds, seconds),
  );

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
 * Makes short disk calls on this thread. While memory answers, which is nearly always, handing a call to a thread costs ten
 * times as much CPU. After a call that had to wait for the disk, the next ones go to a thread, so that the event loop stays
 * free.
 */
const SLOW_MS = 3;
const HANDED_OVER = 64;
/** Every 256th call in a row goes to a thread, so that the event loop is never starved. */
const IN_A_ROW = 256;
let toHandOver = 0;
let madeAtOnce = 0;

/** Longest series of calls on this thread before other work gets its turn. */
const MOST_TURN_MS = 20;
let turnBeganAt: number | null = null;

/** Returns whether calls on this thread have gone on for too long; the caller then first awaits `nextTurn`. */
export function isTurnOver(): boolean {
  if (turnBeganAt !== null) return performance.now() - turnBeganAt > MOST_TURN_MS;
  turnBeganAt = performance.now();
  setImmediate(() => {
    turnBeganAt = null;
  });
  return false;
}

export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Makes a call on this thread (`now`) or on another (`later`). Throws what `now` throws; rejects as `later` does. */
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

/** Makes the same choice for calls that do more than read from the disk, so that only a long time points to the disk. */
export interface DiskSense {
  /** Returns whether such calls may run on this thread. */
  isQuick(): boolean;
  /** Takes note of how long one took. */
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

/** Opens a file and returns its descriptor. Like all that follow, fails with the system's own error. */
export const openFile = async (path: string, flags: number): Promise<number> =>
  atOnce(
    () => openSync(path, flags, 0o644),
    () => openLater(path, flags, 0o644),
  );

/** Closes a descriptor that nothing uses any more, because the next file gets its number. */
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
 * Makes written data durable. In memory, or on a disk with a durable cache, that takes no time. Elsewhere another thread waits
 * for it, and this thread tries less and less often.
 */
export interface Syncing {
  /** Returns whether the last sync on this thread took no time. */
  isQuick(): boolean;
  /** Syncs on this thread, however long that takes. Throws the system's error. */
  atOnce(fd: number): void;
  /** Rejects with the system's error. */
  sync(fd: number): Promise<void>;
}

/**
 * A sync that reaches the disk takes longer. Handing it to a thread takes a third of this time; a stall of the process may take
 * as long.
 */
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

/** Syncs files that are downloaded or copied. */
export const fileSyncing = createSyncing({ now: fdatasyncSync, later: promisify(fdatasync) });

/** Sets the times of the last change and the last access: seconds since 1970. */
export const setFileDate = async (path: string, seconds: number): Promise<void> =>
  atOnce(
    () => utimesSync(path, seconds, seconds),
    () => setDateLater(path, seconds, seconds),
  );

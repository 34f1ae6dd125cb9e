import { hash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { compositeCrc32 } from "#storage/checksums/crc32.ts";
import { renameOwnedNow } from "../base/disk/change-disk.ts";
import {
  closeFile,
  diskSense,
  fileSyncing,
  isTurnOver,
  nextTurn,
  openFile,
  renameFile,
  statFile,
} from "../base/adaptive-sync-io.ts";
import type { Engine } from "../transfer/engine.ts";
import type { ReceiveMemory, ReceiveWatch } from "../transfer/download/receive-file.ts";
import type { Piece } from "../transfer/download/piece.ts";
import { waitAfter } from "../transfer/store-session/retry.ts";
import { fetchSmall, type Fetched } from "./fetch-small.ts";
import type { Expected } from "./facts.ts";

/**
 * A small file that is fetched into memory, verified there, and only then written, synced and renamed. Failures are left to
 * the general download (`receiveVerified`), which retries, waits for disk space, and locates wrong bytes.
 */
export interface SmallFile {
  piece: Piece;
  expected: Expected;
  /** Temporary file beside `path`, in an existing folder. */
  temporary: string;
  path: string;
  /** Early fetch of the object; null when there is none, or it never began. */
  early: Promise<Fetched | Fault | null> | null;
  memory: Pick<ReceiveMemory, "done">;
  watch: ReceiveWatch;
  /** Makes names in a folder durable. */
  syncFolder(folder: string): Promise<void>;
}

/** Receives a small file; null: the general download has to take over. @throws permanent Faults of the store, CANCELLED */
export async function receiveSmall(engine: Engine, file: SmallFile): Promise<"verified" | "unverified" | null> {
  const { piece, expected, watch } = file;
  if (engine.retrier.breaker.isDown) return null;
  const fetched = await fetchCounted(engine, file);
  if (fetched === null) return null;
  const hasLanded = await landIfRight(file, fetched);
  fetched.release();
  if (!hasLanded) {
    watch.onMoved(-piece.length);
    return null;
  }
  watch.patience.progressed();
  watch.onPiece(piece, "done");
  return expected.kind === "nothing" && isAsKept(fetched) === null ? "unverified" : "verified";
}

async function landIfRight(file: SmallFile, fetched: Fetched): Promise<boolean> {
  if (isRight(fetched, file.piece, file.expected)) return didWork(() => land(file, fetched));
  await leaveToLongWay(file, fetched);
  return false;
}

/** Returns false when the disk refuses the work. The error is dropped, because the general download meets it again. */
async function didWork(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch {
    return false;
  }
}

async function land(file: SmallFile, { bytes }: Fetched): Promise<void> {
  while (isTurnOver()) await nextTurn();
  if (diskSense.isQuick() && fileSyncing.isQuick()) landNow(file, bytes);
  else {
    await write(file, bytes);
    await renameFile(file.temporary, file.path);
  }
  await file.syncFolder(dirname(file.path));
}

/** Writes synchronously, for disks that respond at once. This saves seven promises per file. */
function landNow({ temporary, path }: SmallFile, bytes: Buffer): void {
  const startedAt = performance.now();
  const fd = openSync(temporary, FLAGS, 0o644);
  try {
    assertPlain(fstatSync(fd));
    writeAll(fd, bytes);
    fileSyncing.atOnce(fd);
  } finally {
    closeSync(fd);
  }
  renameOwnedNow("download-part", temporary, path);
  diskSense.took(performance.now() - startedAt);
}

function assertPlain(stats: { isFile(): boolean }): void {
  if (!stats.isFile()) throw new Error("it is not a plain file");
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written);
}

/**
 * Leaves a wrong file to the general download. If only the MD5 differs, the ETag may not be an MD5; then the bytes are
 * kept in the temporary file, so that they are not fetched again.
 */
async function leaveToLongWay(file: SmallFile, fetched: Fetched): Promise<void> {
  const { piece, expected, watch, memory, temporary } = file;
  const { bytes, crc32 } = fetched;
  if (isAsKept(fetched) === null && (expected.kind === "md5" || expected.kind === "md5-parts")) {
    await didWork(async () => {
      await write(file, bytes);
      await memory.done(temporary, piece, crc32);
    });
  } else watch.onRetry(new Fault("CHECKSUM_MISMATCH", { op: "cp", subject: piece.key }));
}

async function fetchCounted(engine: Engine, { piece, early, watch }: SmallFile): Promise<Fetched | null> {
  watch.onPiece(piece, "moving");
  const ready = await early;
  if (ready !== null && !isFault(ready)) {
    watch.onMoved(piece.length);
    return ready;
  }
  let moved = 0;
  const onMoved = (bytes: number) => {
    moved += bytes;
    watch.onMoved(bytes);
    watch.patience.progressed();
  };
  try {
    if (ready !== null) throw ready;
    return await fetchSmall(engine, piece, { signal: watch.signal, onMoved });
  } catch (error) {
    watch.onMoved(-moved);
    watch.onPiece(piece, watch.signal.aborted ? "waiting" : "again");
    if (watch.signal.aborted || !isFault(error) || error.retry === "never") throw error;
    watch.onRetry(error);
    const { clock, onTrouble } = engine.retrier;
    onTrouble?.(error);
    const waitMs = waitAfter(clock, error, { tries: 1, atOnce: error.retry === "now" });
    if (waitMs > 0) await clock.sleep(waitMs, watch.signal);
    return null;
  }
}

/** Tells whether the bytes match the store's checksum; null where there is none, or it is over several parts. */
function isAsKept({ crc32, kept }: Fetched): boolean | null {
  if (kept === null || (kept.partCount ?? 1) > 1) return null;
  return kept.crc32 === (kept.partCount === null ? crc32 : compositeCrc32([crc32]));
}

function isRight(fetched: Fetched, piece: Piece, expected: Expected): boolean {
  const { bytes, crc32 } = fetched;
  const asKept = isAsKept(fetched);
  if (asKept === false || (piece.crc32 !== null && piece.crc32 !== crc32)) return false;
  switch (expected.kind) {
    case "whole":
      return crc32 === expected.crc32;
    case "parts":
      return compositeCrc32([crc32]) === expected.crc32;
    case "md5":
      return asKept ?? hash("md5", bytes) === expected.md5;
    case "md5-parts":
      return asKept ?? hash("md5", hash("md5", bytes, "buffer")) === expected.md5;
    case "nothing":
      return true;
  }
}

const FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;

async function write({ temporary }: SmallFile, bytes: Buffer): Promise<void> {
  const fd = await openFile(temporary, FLAGS);
  try {
    assertPlain(await statFile(fd));
    writeAll(fd, bytes);
    await fileSyncing.sync(fd);
  } finally {
    await closeFile(fd);
  }
}

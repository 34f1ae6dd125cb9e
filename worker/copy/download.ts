import { hash } from "node:crypto";
import { mkdir, rename, stat } from "node:fs/promises";
import { dirname, sep } from "node:path";
import { toFault, type Fault } from "#protocol/fault.ts";
import { forEachOf } from "#protocol/for-each-of.ts";
import type { ObjectSum } from "#storage/crc32.ts";
import { diskFault } from "../engine/disk-fault.ts";
import type { EarlyRanges } from "../engine/early-ranges.ts";
import { warmUp, type Engine } from "../engine/engine.ts";
import { forEachFile, MOST_LANES } from "../engine/for-each.ts";
import { createFolderSyncs } from "../engine/journal.ts";
import { openReceiveJournal, type ReceiveMemory } from "../engine/receive-file.ts";
import type { Piece } from "../engine/receive.ts";
import { createPatience, type Patience } from "../engine/retry.ts";
import { createTally, type PartState, type Tally } from "../engine/tally.ts";
import { assertRoom } from "../restore/room.ts";
import type { EarlyFetches } from "./fetch-early.ts";
import { isFetchable } from "./fetch-small.ts";
import { createPlanner, type AskObject, type Expected, type Planner } from "./facts.ts";
import { receiveSmall } from "./receive-small.ts";
import { receiveVerified } from "./receive-verified.ts";

export interface FileToDownload {
  key: string;
  /** Final path on this machine. */
  path: string;
  /** From a listing that was just made; with both known no HEAD is needed. */
  sizeBytes?: number;
  etag?: string;
  /** Epoch ms by the store's clock. */
  modifiedAtMs?: number | null;
  /** Null where the store keeps none. Left out when nobody asked. */
  sum?: ObjectSum | null;
  isOpaque?: boolean;
}

export interface DownloadJob {
  files: readonly FileToDownload[];
  journalPath: string;
  /** Names the temporary files, so that the same copy finds them again. */
  copyId: string;
  partBytes: number | null;
  ask: AskObject;
  /** What was begun while they were listed. */
  early?: Pick<EarlyFetches, "take">;
  /** What was begun of the only file while the store was asked for it. */
  ranges?: EarlyRanges;
  /** MD5 is computed of objects up to this size; left out, of small ones. */
  mostMd5Bytes?: number;
  signal: AbortSignal;
  onStart(tally: Tally): void;
  /** It lies under its final name. */
  onLanded?(file: FileToDownload): Promise<void>;
  /** Asked about a file that could not be moved; left out, the first failure ends the job. */
  onFileFailed?(file: FileToDownload, fault: Fault): "go on" | "stop";
}

/** Each costs a round trip and next to no bytes. */
const SMALL_BYTES = 1024 * 1024;

interface Planned extends FileToDownload {
  sizeBytes: number;
  pieces: Piece[];
  expected: Expected;
}

/**
 * Fetches objects to files. Each file lands under its final name in one rename, complete and compared with whatever sum
 * the store keeps of it, or not at all.
 * Faults: NO_SUCH_KEY, NO_SPACE, those of `receiveVerified`.
 */
export async function downloadFiles(engine: Engine, job: DownloadJob): Promise<Tally> {
  const { clock } = engine.retrier;
  const patience = createPatience(clock);
  const planned: Planned[] = [];
  const planner = createPlanner(engine, job);
  const failed = new Set<string>();
  const small = job.files.filter(({ sizeBytes = Infinity }) => sizeBytes <= SMALL_BYTES);
  const [firstSmall] = small;
  if (firstSmall !== undefined && small.length > 1) {
    await warmUp(engine, { op: "head", key: firstSmall.key }, { count: small.length, size: "small" });
  }
  const orElse = async (file: FileToDownload, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (job.onFileFailed?.(file, toFault(error)) !== "go on") throw error;
      failed.add(file.path);
    }
  };
  await forEachOf(job.files, MOST_LANES, (file) =>
    orElse(file, async () => void planned.push(await planOne(planner, file))),
  );
  planned.sort((a, b) => (a.key < b.key ? -1 : 1));
  const tally = createTally(
    planned.map(({ key, sizeBytes, pieces }) => ({ path: key, sizeBytes, partCount: pieces.length })),
    clock.now,
  );
  const memory = await openReceiveJournal(job.journalPath);
  try {
    const folders = createFolders();
    const first = planned[0];
    if (first !== undefined) {
      await folders.make(dirname(first.path));
      await assertRoom(dirname(first.path), tally.bytesTotal - staged(job, planned, memory));
    }
    job.onStart(tally);
    const isSmall = ([, { pieces }]: [number, Planned]) => pieces.length <= 1;
    await forEachFile([...planned.entries()], { isSmall, direction: "down" }, ([fileIndex, file]) =>
      orElse(file, async () => {
        tally.fileDone(await downloadOne(engine, { job, planner, folders, file, fileIndex, memory, patience, tally }));
        await job.onLanded?.(file);
      }),
    );
  } catch (error) {
    await memory.close();
    throw error;
  }
  // What a file that failed has fetched already is kept for the next try.
  await (failed.size > 0 ? memory.close() : memory.remove());
  return tally;
}

const MOST_NAME_BYTES = 255;

/** Beside the target. A name that would get too long by it is told by its hash. */
function temporaryOf(job: DownloadJob, path: string): string {
  const at = path.lastIndexOf(sep) + 1;
  const last = path.slice(at);
  const name = `.${last}.part-${job.copyId}`;
  const fits = Buffer.byteLength(name) <= MOST_NAME_BYTES;
  return path.slice(0, at) + (fits ? name : `.${hash("sha256", last)}.part-${job.copyId}`);
}

/** Bytes that an earlier try has on disk already. */
function staged(job: DownloadJob, files: readonly Planned[], memory: ReceiveMemory): number {
  if (memory.isEmpty) return 0;
  const isThere = (file: Planned, piece: Piece) => memory.sumOf(temporaryOf(job, file.path), piece) !== null;
  return files
    .flatMap((file) => file.pieces.filter((piece) => isThere(file, piece)))
    .reduce((sum, { length }) => sum + length, 0);
}

async function planOne(planner: Planner, file: FileToDownload): Promise<Planned> {
  const { key, sizeBytes, etag, modifiedAtMs = null, sum, isOpaque } = file;
  const known =
    sizeBytes === undefined || etag === undefined
      ? null
      : {
          sizeBytes,
          etag,
          modifiedAtMs,
          ...(sum === undefined ? {} : { sum }),
          ...(isOpaque === undefined ? {} : { isOpaque }),
        };
  const plan = await planner.plan(key, known);
  const { expected, parts } = plan;
  const pieces = parts.map(({ offset, length }): Piece => ({
    key,
    objectOffset: offset,
    fileOffset: offset,
    length,
    crc32: expected.kind === "whole" && parts.length === 1 ? expected.crc32 : null,
    etag: plan.etag,
    modifiedAtMs: plan.modifiedAtMs,
  }));
  return { ...file, sizeBytes: plan.sizeBytes, pieces, expected };
}

async function downloadOne(
  engine: Engine,
  about: {
    job: DownloadJob;
    planner: Planner;
    folders: Folders;
    file: Planned;
    fileIndex: number;
    memory: ReceiveMemory;
    patience: Patience;
    tally: Tally;
  },
): Promise<"verified" | "unverified"> {
  const { job, planner, folders, file, fileIndex, memory, patience, tally } = about;
  const { key, path, expected, sizeBytes, pieces } = file;
  const folder = dirname(path);
  await folders.make(folder);
  const temporary = temporaryOf(job, path);
  const indexOf = new Map(pieces.map((piece, index) => [piece, index]));
  const watch = {
    signal: job.signal,
    patience,
    onMoved: tally.moved,
    onPiece: (piece: Piece, state: PartState) =>
      tally.part({ fileIndex, partIndex: indexOf.get(piece) ?? 0, length: piece.length }, state),
    onRetry: tally.retried,
    ...(job.ranges === undefined ? {} : { early: job.ranges }),
  };
  const [piece] = pieces;
  if (
    pieces.length === 1 &&
    piece !== undefined &&
    isFetchable(engine, piece) &&
    memory.sumOf(temporary, piece) === null
  ) {
    const early = piece.etag === null ? null : (job.early?.take({ key, etag: piece.etag, sizeBytes }) ?? null);
    // One request is enough for it.
    job.ranges?.drop();
    const { sync: syncFolder } = folders;
    const small = { piece, expected, temporary, path, early, memory, watch, syncFolder };
    const verdict = await receiveSmall(engine, small);
    if (verdict !== null) return verdict;
    // It may have been taken away since.
    folders.forget(folder);
    await folders.make(folder);
  }
  const verdict = await receiveVerified(engine, {
    key,
    target: { path: temporary, sizeBytes, pieces },
    expected,
    memory,
    ask: job.ask,
    onNoMd5: planner.distrustMd5,
    watch,
  });
  try {
    await rename(temporary, path);
    await folders.sync(folder);
  } catch (error) {
    throw diskFault(error, { op: "rename", subject: path, otherwise: "WRITE_FAILED" });
  }
  return verdict;
}

/** The folders of many files: each is made once, and synced for many at a time. */
interface Folders {
  /** Faults: FOLDER_UNWRITABLE, NO_SPACE. */
  make(path: string): Promise<void>;
  /** The next one is to look whether it is there. */
  forget(path: string): void;
  sync(path: string): Promise<void>;
}

function createFolders(): Folders {
  const made = new Map<string, Promise<unknown>>();
  return {
    make: async (path) => {
      const making = made.get(path) ?? mkdir(path, { recursive: true });
      made.set(path, making);
      try {
        await making;
      } catch (error) {
        made.delete(path);
        throw diskFault(error, { op: "mkdir", subject: path, otherwise: "FOLDER_UNWRITABLE" });
      }
    },
    forget: (path) => void made.delete(path),
    sync: createFolderSyncs(),
  };
}

/** Whether the path is an existing folder. */
export async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}

import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { isFault, toFault, type Fault } from "#protocol/faults/fault.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import type { ObjectSum } from "#storage/checksums/crc32.ts";
import { renameOwned } from "../base/disk/change-disk.ts";
import { nameBeside } from "../base/disk/name-beside.ts";
import { codeOf, diskFault } from "../base/disk-fault.ts";
import type { EarlyRanges } from "../transfer/download/speculative-ranges.ts";
import type { Engine } from "../transfer/engine.ts";
import { forEachFile, MOST_LANES } from "../base/for-each.ts";
import { createFolderSyncs } from "../base/journal.ts";
import { openReceiveJournal, type ReceiveMemory } from "../transfer/download/receive-file.ts";
import type { Piece } from "../transfer/download/piece.ts";
import { createPatience, type Patience } from "../transfer/store-session/retry.ts";
import {
  createProgressCounters,
  type PartState,
  type ProgressCounters,
} from "../transfer/progress/transfer-progress.ts";
import { mapRows, pickRows, placesOf, type Rows } from "../base/rows.ts";
import { assertRoom } from "../base/room.ts";
import type { EarlyFetches } from "./fetch-early.ts";
import { isFetchable } from "./fetch-small.ts";
import {
  createPlanner,
  type AskObject,
  type DownloadPlan,
  type Expected,
  type FileFacts,
  type Planner,
} from "./facts.ts";
import { receiveSmall } from "./receive-small.ts";
import { receiveVerified } from "./receive-verified.ts";
import { warmForSmall } from "./warm-small.ts";

export interface FileToDownload {
  key: string;
  /** Size and ETag from a fresh listing; with both, no HEAD is needed. */
  sizeBytes?: number;
  etag?: string | null;
  /** Epoch ms by the store's clock. */
  modifiedAtMs?: number | null;
  /** Whether a HEAD has to tell before the download whether its bytes can be read. Left out: they can. */
  mayBeArchived?: true;
  /** Left out when no HEAD was made. */
  checks?: {
    /** Null when the store has no checksum of the object. */
    sum: ObjectSum | null;
    isOpaque: boolean;
  };
}

/**
 * Job of a download. There may be a million files, so a small file whose listing says enough holds no state before or after
 * its own transfer.
 */
export interface DownloadJob<F extends FileToDownload> {
  files: Rows<F>;
  /** Final path on this machine. */
  pathOf(file: F): string;
  journalPath: string;
  /** Part of the temporary files' names, by which a repeated copy finds them again. */
  copyId: string;
  partBytes: number | null;
  ask: AskObject;
  /** Fetches that were begun during the listing. */
  early?: Pick<EarlyFetches, "take">;
  /** Speculative range requests for a single file, begun while its HEAD was in flight. */
  ranges?: EarlyRanges;
  /** Largest object of which MD5 is computed; a default limit when left out. */
  mostMd5Bytes?: number;
  signal: AbortSignal;
  onStart(counters: ProgressCounters): void;
  /** Called when a file has its final name. */
  onLanded?(file: F, path: string): Promise<void>;
  /** Decides about a file that failed; when left out, the first failure ends the job. */
  onFileFailed?(file: F, fault: Fault): "go on" | "stop";
}

/** Objects up to this size cost mainly a round trip, so they need many connections. */
const SMALL_BYTES = 1024 * 1024;

function* keysOfSmall(files: Iterable<FileToDownload>): Generator<string> {
  for (const { key, sizeBytes = Infinity } of files) if (sizeBytes <= SMALL_BYTES) yield key;
}

interface Plan {
  sizeBytes: number;
  pieces: Piece[];
  expected: Expected;
}

/**
 * Fetches objects to files. A file gets its final name by a rename, after it is complete and was compared with the checksum
 * that the store has of it, if any. @throws Fault NO_SUCH_KEY, NO_SPACE, and those of `receiveVerified`
 */
export async function downloadFiles<F extends FileToDownload>(
  engine: Engine,
  job: DownloadJob<F>,
): Promise<ProgressCounters> {
  const { clock } = engine.retrier;
  const patience = createPatience(clock);
  const planner = createPlanner(engine, job);
  let hasFailed = false;
  await warmForSmall(engine, keysOfSmall(job.files));
  const orElse = async (file: F, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (job.onFileFailed?.(file, toFault(error)) !== "go on") throw error;
      hasFailed = true;
    }
  };
  const plans = await planAll(planner, job, orElse);
  const { files, planOf, isSmall } = plans;
  const counted = (file: F) => {
    const { sizeBytes, pieces } = planOf(file);
    return { path: file.key, sizeBytes, partCount: pieces.length };
  };
  const counters = createProgressCounters(mapRows(files, counted), clock.now);
  const memory = await openReceiveJournal(job.journalPath);
  try {
    const folders = createFolders();
    const first = files.at(0);
    if (first !== undefined) {
      const folder = await folders.near(dirname(job.pathOf(first)));
      await assertRoom(folder, counters.bytesTotal - staged(job, plans, memory));
    }
    job.onStart(counters);
    await forEachFile(files, { isSmall, direction: "down" }, (file, fileIndex) =>
      orElse(file, async () => {
        const one = { key: file.key, path: job.pathOf(file), plan: planOf(file), fileIndex };
        counters.fileDone(await downloadOne(engine, { job, planner, folders, one, memory, patience, counters }));
        await job.onLanded?.(file, one.path);
      }),
    );
  } catch (error) {
    await memory.close();
    throw error;
  }
  // After a failure the journal stays, so that the next try continues from the bytes already fetched.
  await (hasFailed ? memory.close() : memory.remove());
  return counters;
}

interface Plans<F> {
  /** Files that could be planned. */
  files: Rows<F>;
  planOf(file: F): Plan;
  isSmall(file: F): boolean;
}

/** Plans now the files that need a request to the store; the plans of all others are made on demand. */
async function planAll<F extends FileToDownload>(
  planner: Planner,
  job: DownloadJob<F>,
  orElse: (file: F, work: () => Promise<void>) => Promise<void>,
): Promise<Plans<F>> {
  /** Plans by key. */
  const made = new Map<string, Plan>();
  const isPlain = (file: F) => {
    const known = listedOf(file);
    return known !== null && planner.isPlain(known);
  };
  // `isPlain` is evaluated once per file, because it changes when the planner stops trusting ETags as MD5.
  const asked = pickRows(
    job.files,
    placesOf(job.files, (file) => !isPlain(file)),
  );
  const left = new Set<string>();
  await forEachOf(asked, MOST_LANES, async (file) => {
    const { key } = file;
    await orElse(file, async () => void made.set(key, toPlan(key, await planner.plan(key, listedOf(file)))));
    if (!made.has(key)) left.add(key);
  });
  return {
    files:
      left.size === 0
        ? job.files
        : pickRows(
            job.files,
            placesOf(job.files, ({ key }) => !left.has(key)),
          ),
    planOf: (file) => {
      const plan = made.get(file.key);
      if (plan !== undefined) return plan;
      const listed = listedOf(file);
      if (listed === null) throw new Error("a file that nobody knows was not planned");
      return toPlan(file.key, planner.planPlain(listed));
    },
    isSmall: (file) => (made.get(file.key)?.pieces.length ?? 1) <= 1,
  };
}

function listedOf(file: FileToDownload): FileFacts | null {
  const { sizeBytes, etag, modifiedAtMs = null, mayBeArchived, checks } = file;
  return sizeBytes === undefined || etag === undefined || etag === null
    ? null
    : { sizeBytes, etag, modifiedAtMs, ...(mayBeArchived === true && { mayBeArchived }), ...checks };
}

function toPlan(key: string, { sizeBytes, etag, modifiedAtMs, parts, expected }: DownloadPlan): Plan {
  const pieces = parts.map(({ offset, length }): Piece => ({
    key,
    objectOffset: offset,
    fileOffset: offset,
    length,
    crc32: expected.kind === "whole" && parts.length === 1 ? expected.crc32 : null,
    etag,
    modifiedAtMs,
  }));
  return { sizeBytes, pieces, expected };
}

/** Returns the temporary file beside the target. */
const temporaryOf = (job: { copyId: string }, path: string): string =>
  nameBeside(path, { before: ".", behind: `.part-${job.copyId}` });

/** Returns the bytes that an earlier try has on disk already. */
function staged<F extends FileToDownload>(job: DownloadJob<F>, plans: Plans<F>, memory: ReceiveMemory): number {
  if (memory.isEmpty) return 0;
  let bytes = 0;
  for (const file of plans.files) {
    const temporary = temporaryOf(job, job.pathOf(file));
    for (const piece of plans.planOf(file).pieces) {
      if (memory.sumOf(temporary, piece) !== null) bytes += piece.length;
    }
  }
  return bytes;
}

async function downloadOne(
  engine: Engine,
  about: {
    job: Omit<DownloadJob<FileToDownload>, "files" | "pathOf" | "onLanded" | "onFileFailed">;
    planner: Planner;
    folders: Folders;
    one: { key: string; path: string; plan: Plan; fileIndex: number };
    memory: ReceiveMemory;
    patience: Patience;
    counters: ProgressCounters;
  },
): Promise<"verified" | "unverified"> {
  const { job, planner, folders, one, memory, patience, counters } = about;
  const { key, path, fileIndex } = one;
  const { expected, sizeBytes, pieces } = one.plan;
  const folder = dirname(path);
  await folders.make(folder);
  const temporary = temporaryOf(job, path);
  const indexOf = new Map(pieces.map((piece, index) => [piece, index]));
  const watch = {
    signal: job.signal,
    patience,
    onMoved: counters.moved,
    onPiece: (piece: Piece, state: PartState) =>
      counters.part({ fileIndex, partIndex: indexOf.get(piece) ?? 0, length: piece.length }, state),
    onRetry: counters.retried,
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
    // A small object needs one request only.
    job.ranges?.drop();
    const { sync: syncFolder } = folders;
    const small = { piece, expected, temporary, path, early, memory, watch, syncFolder };
    const verdict = await receiveSmall(engine, small);
    if (verdict !== null) return verdict;
    // The folder may have been removed meanwhile.
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
    await renameOwned("download-part", temporary, path);
    await folders.sync(folder);
  } catch (error) {
    throw diskFault(error, { op: "rename", subject: path, otherwise: "WRITE_FAILED" });
  }
  return verdict;
}

/** Creates each folder once, and groups the fsyncs of folders. */
interface Folders {
  /** Creates a folder. @throws Fault FOLDER_UNWRITABLE, NO_SPACE */
  make(path: string): Promise<void>;
  /** Creates a folder and returns it; if a file is in the way, returns the nearest existing folder above. */
  near(path: string): Promise<string>;
  /** Makes the next `make` create the folder again. */
  forget(path: string): void;
  sync(path: string): Promise<void>;
}

/** Number of created folders to remember. */
const MOST_FOLDERS = 4_096;

function createFolders(): Folders {
  const made = new Map<string, Promise<unknown>>();
  const make = async (path: string): Promise<void> => {
    // Creating a folder again is harmless.
    if (made.size > MOST_FOLDERS) made.clear();
    const making = made.get(path) ?? mkdir(path, { recursive: true });
    made.set(path, making);
    try {
      await making;
    } catch (error) {
      made.delete(path);
      throw diskFault(error, { op: "mkdir", subject: path, otherwise: "FOLDER_UNWRITABLE" });
    }
  };
  return {
    make,
    near: async (path) => {
      let at = path;
      try {
        await make(path);
      } catch (error) {
        const code = isFault(error) ? codeOf(error.cause) : null;
        if (code !== "EEXIST" && code !== "ENOTDIR") throw error;
        while (!(await isFolder(at)) && dirname(at) !== at) at = dirname(at);
      }
      return at;
    },
    forget: (path) => void made.delete(path),
    sync: createFolderSyncs(),
  };
}

/** Tells whether the path is an existing folder. */
export async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}

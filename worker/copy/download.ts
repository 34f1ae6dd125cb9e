import { hash } from "node:crypto";
import { mkdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Fault, toFault } from "#protocol/fault.ts";
import { readHead } from "#storage/answers.ts";
import { combineCrc32 } from "#storage/crc32.ts";
import { planParts } from "#storage/plan.ts";
import { diskFault } from "../engine/disk-fault.ts";
import { callStore, type Engine } from "../engine/engine.ts";
import { forEachFile, forEachOf, MOST_LANES } from "../engine/for-each.ts";
import { syncFolder } from "../engine/journal.ts";
import { openReceiveJournal, receiveFile, type ReceiveMemory } from "../engine/receive-file.ts";
import type { Piece } from "../engine/receive.ts";
import { createPatience, withRetry, type Patience } from "../engine/retry.ts";
import { createTally, type Tally } from "../engine/tally.ts";
import { assertRoom } from "../restore/room.ts";

export interface FileToDownload {
  key: string;
  /** Final path on this machine. */
  path: string;
  /** From a listing that was just made; with both known no HEAD is needed. */
  sizeBytes?: number;
  etag?: string;
  /** Of the whole object, hex; null where the store keeps none. Left out when nobody asked. */
  crc32?: string | null;
}

export interface DownloadJob {
  files: readonly FileToDownload[];
  journalPath: string;
  /** Names the temporary files, so that the same copy finds them again. */
  copyId: string;
  partBytes: number | null;
  signal: AbortSignal;
  onStart(tally: Tally): void;
  /** Asked about a file that could not be moved; left out, the first failure ends the job. */
  onFileFailed?(file: FileToDownload, fault: Fault): "go on" | "stop";
}

interface Planned extends FileToDownload {
  sizeBytes: number;
  crc32: string | null;
  pieces: Piece[];
}

/**
 * Fetches objects to files. Each file lands under its final name in one rename, complete and verified, or not at all.
 * Faults: NO_SUCH_KEY, NO_SPACE, those of `receivePieces`.
 */
export async function downloadFiles(engine: Engine, job: DownloadJob): Promise<Tally> {
  const { clock } = engine.retrier;
  const patience = createPatience(clock);
  const planned: Planned[] = [];
  const failed = new Set<string>();
  const orElse = async (file: FileToDownload, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (job.onFileFailed?.(file, toFault(error)) !== "go on") throw error;
      failed.add(file.path);
    }
  };
  await forEachOf(job.files, MOST_LANES, (file) =>
    orElse(file, async () => void planned.push(await planOne(engine, job, { file, patience }))),
  );
  planned.sort((a, b) => (a.key < b.key ? -1 : 1));
  const tally = createTally(
    planned.map(({ key, sizeBytes, pieces }) => ({ path: key, sizeBytes, partCount: pieces.length })),
    clock.now,
  );
  const memory = await openReceiveJournal(job.journalPath);
  try {
    const first = planned[0];
    if (first !== undefined) {
      await makeFolder(dirname(first.path));
      await assertRoom(dirname(first.path), tally.bytesTotal - staged(job, planned, memory));
    }
    job.onStart(tally);
    const isSmall = ([, { pieces }]: [number, Planned]) => pieces.length <= 1;
    await forEachFile([...planned.entries()], isSmall, ([fileIndex, file]) =>
      orElse(file, async () => {
        await downloadOne(engine, { job, file, fileIndex, memory, patience, tally });
        tally.fileDone();
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
  const name = `.${basename(path)}.part-${job.copyId}`;
  const fits = Buffer.byteLength(name) <= MOST_NAME_BYTES;
  return join(dirname(path), fits ? name : `.${hash("sha256", basename(path))}.part-${job.copyId}`);
}

/** Bytes that an earlier try has on disk already. */
function staged(job: DownloadJob, files: readonly Planned[], memory: ReceiveMemory): number {
  const isThere = (file: Planned, piece: Piece) => memory.sumOf(temporaryOf(job, file.path), piece) !== null;
  return files
    .flatMap((file) => file.pieces.filter((piece) => isThere(file, piece)))
    .reduce((sum, { length }) => sum + length, 0);
}

async function planOne(
  engine: Engine,
  job: DownloadJob,
  about: { file: FileToDownload; patience: Patience },
): Promise<Planned> {
  const { file } = about;
  const head = await factsOf(engine, job, about);
  const { parts } = planParts({
    sizeBytes: head.sizeBytes,
    traits: engine.traits,
    ...(job.partBytes === null ? {} : { wishedPartBytes: job.partBytes }),
  });
  const pieces = parts.map(({ offset, length }): Piece => ({
    key: file.key,
    objectOffset: offset,
    fileOffset: offset,
    length,
    crc32: null,
    etag: head.etag,
  }));
  return { ...file, sizeBytes: head.sizeBytes, crc32: head.crc32, pieces };
}

/** What is known of the object; asked for when nobody has listed it just now. */
async function factsOf(
  engine: Engine,
  job: DownloadJob,
  about: { file: FileToDownload; patience: Patience },
): Promise<{ sizeBytes: number; etag: string; crc32: string | null }> {
  const { file, patience } = about;
  const { sizeBytes, etag, crc32 = null } = file;
  if (sizeBytes !== undefined && etag !== undefined) return { sizeBytes, etag, crc32 };
  return withRetry(engine.retrier, { signal: job.signal, patience }, () =>
    callStore(engine, { operation: { op: "head", key: file.key }, signal: job.signal }, readHead),
  );
}

async function downloadOne(
  engine: Engine,
  about: {
    job: DownloadJob;
    file: Planned;
    fileIndex: number;
    memory: ReceiveMemory;
    patience: Patience;
    tally: Tally;
  },
): Promise<void> {
  const { job, file, fileIndex, memory, patience, tally } = about;
  const folder = dirname(file.path);
  await makeFolder(folder);
  const temporary = temporaryOf(job, file.path);
  const target = { path: temporary, sizeBytes: file.sizeBytes, pieces: file.pieces };
  const indexOf = new Map(file.pieces.map((piece, index) => [piece, index]));
  const sums = await receiveFile(engine, target, {
    memory,
    watch: {
      signal: job.signal,
      patience,
      onMoved: tally.moved,
      onPiece: (piece, state) =>
        tally.part({ fileIndex, partIndex: indexOf.get(piece) ?? 0, length: piece.length }, state),
      onRetry: tally.retried,
    },
  });
  if (file.crc32 !== null && file.crc32 !== wholeSum(file.pieces, sums)) {
    await rm(temporary, { force: true });
    throw new Fault("CHECKSUM_MISMATCH", { op: "cp", subject: file.key });
  }
  try {
    await rename(temporary, file.path);
    await syncFolder(folder);
  } catch (error) {
    throw diskFault(error, { op: "rename", subject: file.path, otherwise: "WRITE_FAILED" });
  }
}

function wholeSum(pieces: readonly Piece[], sums: readonly string[]): string {
  return pieces.reduce((sum, piece, index) => combineCrc32(sum, sums[index] ?? "00000000", piece.length), "00000000");
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true });
  } catch (error) {
    throw diskFault(error, { op: "mkdir", subject: path, otherwise: "FOLDER_UNWRITABLE" });
  }
}

/** Whether the path is an existing folder. */
export async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}

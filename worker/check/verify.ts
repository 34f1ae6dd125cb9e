import { join } from "node:path";
import type { ExtentSums, StoredFile, StoredManifest } from "#protocol/adopted.ts";
import { isDamage, MOST_RANGES, type DamagedRange, type DamageReport } from "#protocol/damage.ts";
import { storedBytes } from "#protocol/packing.ts";
import { Fault, isFault } from "#protocol/fault.ts";
import type { Engine } from "../engine/engine.ts";
import { forEachOf } from "../engine/for-each.ts";
import { openReceiveJournal, type ReceiveMemory } from "../engine/receive-file.ts";
import { receivePieces, type Piece } from "../engine/receive.ts";
import { createPatience, type Patience } from "../engine/retry.ts";
import { createTally, type Tally } from "../engine/tally.ts";

/**
 * Reads a checkpoint back, every extent of every file, and compares it with the manifest: CRC32, and ETag where the store's
 * are comparable. Nothing of it is kept. Bytes that are wrong are fetched twice more before they count as damaged; damage
 * in one place does not end it, so that one look tells all. What was right is in a journal: a killed one goes on from there.
 */
export interface VerifyJob {
  manifest: StoredManifest;
  /** Names its journal. */
  transferId: string;
  /** Folder of journals. */
  journals: string;
  signal: AbortSignal;
  onStart(tally: Tally): void;
  /** Before each extent: resolves when it is this one's turn. Faults: CANCELLED. */
  turn(): Promise<void>;
  /** After each: it took so long. Faults: CANCELLED. */
  rest(tookMs: number): Promise<void>;
}

interface Verified {
  tally: Tally;
  damage: DamageReport | null;
  sums: ExtentSums;
}

const EXTENTS_AT_A_TIME = 2;

export const verifyJournalOf = (job: Pick<VerifyJob, "journals" | "transferId">): string =>
  join(job.journals, `${job.transferId}.jsonl`);

interface Item {
  file: StoredFile;
  fileIndex: number;
  partIndex: number;
  /** As it lies in the object. */
  piece: Piece;
  /** Of the file. */
  bytes: number;
}

/** No damage: all of it is as it was committed. `sums` are those of the pieces that were read, by file. Faults: those of the hub and the store that say nothing about the bytes, CANCELLED. */
export async function verify(engine: Engine, job: VerifyJob): Promise<Verified> {
  const { manifest, signal } = job;
  const tally = createTally(
    manifest.files.map(({ path, sizeBytes, extents }) => ({ path, sizeBytes, partCount: extents.length })),
    engine.retrier.clock.now,
  );
  job.onStart(tally);
  const memory = await openReceiveJournal(verifyJournalOf(job));
  const patience = createPatience(engine.retrier.clock);
  const found: DamagedRange[] = [];
  const items = itemsOf(manifest);
  const sums = new Map<Piece, string>();
  const left = manifest.files.map(({ extents }) => extents.length);
  for (const count of left) if (count === 0) tally.fileDone();
  try {
    await forEachOf(items, EXTENTS_AT_A_TIME, async (item) => {
      const range = await readOne(engine, job, { item, memory, patience, tally, sums });
      if (range !== null) found.push(range);
      left[item.fileIndex] = (left[item.fileIndex] ?? 1) - 1;
      if (left[item.fileIndex] === 0) tally.fileDone();
    });
  } catch (error) {
    await memory.close();
    throw error;
  }
  if (signal.aborted) throw new Fault("CANCELLED");
  await memory.remove();
  return { tally, damage: reportOf(manifest, found), sums: sumsOf(manifest, items, sums) };
}

/** Null for a file that was not read whole. */
function sumsOf(manifest: StoredManifest, items: readonly Item[], sums: ReadonlyMap<Piece, string>): ExtentSums {
  const found: string[][] = manifest.files.map(() => []);
  for (const { fileIndex, piece } of items) {
    const sum = sums.get(piece);
    if (sum !== undefined) found[fileIndex]?.push(sum);
  }
  return manifest.files.map(({ extents }, index) =>
    found[index]?.length === extents.length ? (found[index] ?? null) : null,
  );
}

function itemsOf(manifest: StoredManifest): Item[] {
  return manifest.files.flatMap((file, fileIndex) => {
    let fileOffset = 0;
    return file.extents.map((extent, partIndex) => {
      const { key, length: bytes, etag } = extent;
      // What is compressed is compared as it lies there: its own sum says as much as that of what it unpacks to.
      const { offset, length, crc32 } = storedBytes(extent);
      const piece: Piece = { key, objectOffset: offset, fileOffset, length, crc32, etag };
      fileOffset += bytes;
      return { file, fileIndex, partIndex, piece, bytes };
    });
  });
}

/** The range when it is damaged. */
async function readOne(
  engine: Engine,
  job: VerifyJob,
  about: { item: Item; memory: ReceiveMemory; patience: Patience; tally: Tally; sums: Map<Piece, string> },
): Promise<DamagedRange | null> {
  const { item, memory, patience, tally, sums } = about;
  const { file, piece } = item;
  const at = { fileIndex: item.fileIndex, partIndex: item.partIndex, length: item.bytes, movedBytes: piece.length };
  const known = memory.sumOf(file.path, piece);
  if (known !== null && (piece.crc32 === null || known === piece.crc32)) {
    sums.set(piece, known);
    tally.part(at, "kept");
    return null;
  }
  await job.turn();
  const { clock } = engine.retrier;
  const startedAt = clock.now();
  let range: DamagedRange | null = null;
  let movedBytes = 0;
  try {
    await receivePieces(engine, {
      fd: null,
      path: file.path,
      pieces: [piece],
      signal: job.signal,
      patience,
      onMoved: (bytes) => {
        movedBytes += bytes;
        tally.moved(bytes);
      },
      onPiece: (_, state) => tally.part(at, state),
      onDone: async (_, crc32) => {
        sums.set(piece, crc32);
        await memory.done(file.path, piece, crc32);
      },
      onPartly: async () => undefined,
      onWrong: async () => undefined,
      onRetry: tally.retried,
    });
    tally.part(at, "done");
  } catch (error) {
    if (job.signal.aborted || !isFault(error) || !isDamage(error.code)) throw error;
    range = {
      path: file.path,
      from: piece.fileOffset,
      to: piece.fileOffset + item.bytes - 1,
      fault: error.toData(),
    };
    // It was read, and counts as such.
    tally.moved(-movedBytes);
    tally.part(at, "kept");
  }
  await job.rest(clock.now() - startedAt);
  return range;
}

/** Neighbours are one range; in the order of the manifest. */
function reportOf(manifest: StoredManifest, found: readonly DamagedRange[]): DamageReport | null {
  const order = new Map(manifest.files.map(({ path }, index) => [path, index]));
  const sorted = found.toSorted((a, b) => (order.get(a.path) ?? 0) - (order.get(b.path) ?? 0) || a.from - b.from);
  const joined: DamagedRange[] = [];
  for (const range of sorted) {
    const last = joined.at(-1);
    if (last !== undefined && last.path === range.path && last.to + 1 === range.from) last.to = range.to;
    else joined.push({ ...range });
  }
  if (joined.length === 0) return null;
  return { ranges: joined.slice(0, MOST_RANGES), more: Math.max(0, joined.length - MOST_RANGES) };
}

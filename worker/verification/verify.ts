import { join } from "node:path";
import type { ExtentSums, StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { isDamage, MOST_RANGES, type DamagedRange, type DamageReport } from "#protocol/checkpoint/damage.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import type { Engine } from "../transfer/engine.ts";
import { openReceiveJournal, type ReceiveMemory } from "../transfer/download/receive-file.ts";
import { receivePieces } from "../transfer/download/receive.ts";
import type { Piece } from "../transfer/download/piece.ts";
import { createPatience, type Patience } from "../transfer/store-session/retry.ts";
import { signAhead } from "../transfer/store-session/sign-ahead.ts";
import {
  createProgressCounters,
  type PartState,
  type ProgressCounters,
} from "../transfer/progress/transfer-progress.ts";
import { itemsOf, planSpans, type Item, type Span } from "./plan-spans.ts";

/**
 * Reads a checkpoint back and compares it with the manifest: every extent by CRC32, and by ETag where the store's are
 * comparable. Small files that lie together are read in one request, and nothing is kept. Wrong bytes are fetched twice more
 * before they count as damaged. Damage in one place does not end it, so that one run finds all. A journal records what was
 * right: after a kill it continues there.
 */
export interface VerifyJob {
  manifest: StoredManifest;
  /** Name of its journal. */
  transferId: string;
  /** Folder of journals. */
  journals: string;
  signal: AbortSignal;
  onStart(counters: ProgressCounters): void;
  /** Called before each extent; resolves when it may be read. Faults: CANCELLED. */
  turn(): Promise<void>;
  /** Called after each extent with its duration. Faults: CANCELLED. */
  rest(tookMs: number): Promise<void>;
}

interface Verified {
  counters: ProgressCounters;
  damage: DamageReport | null;
  sums: ExtentSums;
}

const SPANS_AT_A_TIME = 2;
const SIGNED_AT_A_TIME = 64;
/** As in a restore, wrong bytes are fetched again twice. */
const MOST_MISMATCHES = 2;

export const verifyJournalOf = (job: Pick<VerifyJob, "journals" | "transferId">): string =>
  join(job.journals, `${job.transferId}.jsonl`);

interface Verifying {
  job: VerifyJob;
  memory: ReceiveMemory;
  patience: Patience;
  counters: ProgressCounters;
  sums: Map<Piece, string>;
}

/**
 * Verifies a checkpoint. `damage` null: all of it is as it was committed. `sums`: checksums of the pieces that were read, by
 * file. Faults: those of the hub and the store that say nothing about the bytes, CANCELLED.
 */
export async function verify(engine: Engine, job: VerifyJob): Promise<Verified> {
  const { manifest, signal } = job;
  const counters = createProgressCounters(
    manifest.files.map(({ path, sizeBytes, extents }) => ({ path, sizeBytes, partCount: extents.length })),
    engine.retrier.clock.now,
  );
  job.onStart(counters);
  const memory = await openReceiveJournal(verifyJournalOf(job));
  const patience = createPatience(engine.retrier.clock);
  const found: DamagedRange[] = [];
  const items = itemsOf(manifest);
  const sums = new Map<Piece, string>();
  const left = manifest.files.map(({ extents }) => extents.length);
  const settle = ({ fileIndex }: Item) => {
    left[fileIndex] = (left[fileIndex] ?? 1) - 1;
    if (left[fileIndex] === 0) counters.fileDone();
  };
  for (const count of left) if (count === 0) counters.fileDone();
  const isKnown = (item: Item): boolean => {
    const { file, piece } = item;
    const known = memory.sumOf(file.path, piece);
    if (known === null || (piece.crc32 !== null && known !== piece.crc32)) return false;
    sums.set(piece, known);
    counters.part(partOf(item), "kept");
    settle(item);
    return true;
  };
  const spans = planSpans(
    manifest,
    items.filter((item) => !isKnown(item)),
  );
  const signed = signAhead(
    engine,
    spans.map(({ piece }) => piece),
    SIGNED_AT_A_TIME,
  );
  try {
    await forEachOf(spans, SPANS_AT_A_TIME, async (span) => {
      await job.turn();
      await signed.of(span.piece);
      found.push(...(await readSpan(engine, span, { job, memory, patience, counters, sums })));
      signed.done(span.piece);
      span.items.forEach(settle);
    });
  } catch (error) {
    await memory.close();
    throw error;
  }
  if (signal.aborted) throw new Fault("CANCELLED");
  await memory.remove();
  return { counters, damage: reportOf(manifest, found), sums: sumsOf(manifest, items, sums) };
}

/** Returns the checksums by file; null for a file that was not read whole. */
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

const partOf = ({ fileIndex, partIndex, bytes, piece }: Item) => ({
  fileIndex,
  partIndex,
  length: bytes,
  movedBytes: piece.length,
});

/** Returns the ranges that are damaged. */
async function readSpan(engine: Engine, span: Span, about: Verifying): Promise<DamagedRange[]> {
  const { job, counters } = about;
  const { clock } = engine.retrier;
  const startedAt = clock.now();
  let movedBytes = 0;
  const onMoved = (bytes: number) => {
    movedBytes += bytes;
    counters.moved(bytes);
  };
  let damaged: DamagedRange[] = [];
  try {
    const wrong = await (span.items.length === 1 ? readOne : readMany)(engine, span, { ...about, onMoved });
    damaged = wrong.map((item) => damagedOf(item, mismatchOf(item.piece)));
    for (const item of span.items) counters.part(partOf(item), wrong.includes(item) ? "kept" : "done");
    // Bytes of damaged files, and unwanted bytes between two files, do not count as moved.
    const right = span.items.reduce((sum, item) => sum + (wrong.includes(item) ? 0 : item.piece.length), 0);
    counters.moved(right - movedBytes);
  } catch (error) {
    if (job.signal.aborted || !isFault(error) || !isDamage(error.code)) throw error;
    damaged = span.items.map((item) => damagedOf(item, error));
    // The extent was read, so its part counts as kept.
    counters.moved(-movedBytes);
    for (const item of span.items) counters.part(partOf(item), "kept");
  }
  await job.rest(clock.now() - startedAt);
  return damaged;
}

type Reading = Verifying & { onMoved(bytes: number): void };

const partsOf = ({ job, patience, counters, onMoved }: Reading, { items }: Span) => ({
  path: items[0]?.file.path ?? "",
  signal: job.signal,
  patience,
  onMoved,
  onPiece: (_: Piece, state: PartState) => {
    for (const item of items) if (state === "moving" || state === "waiting") counters.part(partOf(item), state);
  },
  onPartly: async () => undefined,
  onWrong: async () => undefined,
  onRetry: counters.retried,
});

/** Reads one extent, counts and sums it, and keeps nothing. Returns no items: wrong bytes are a fault here. */
async function readOne(engine: Engine, span: Span, about: Reading): Promise<readonly Item[]> {
  const { memory, sums } = about;
  const { piece, items } = span;
  await receivePieces(engine, {
    ...partsOf(about, span),
    fd: null,
    pieces: [piece],
    onDone: async (_, crc32) => {
      const [item] = items;
      if (item === undefined) return;
      sums.set(item.piece, crc32);
      await memory.done(item.file.path, item.piece, crc32);
    },
  });
  return [];
}

/** Reads several files into memory and compares each with its own checksum. Returns those that are wrong after all attempts. */
async function readMany(engine: Engine, span: Span, about: Reading): Promise<readonly Item[]> {
  const { memory, sums, onMoved, counters } = about;
  const { piece, items } = span;
  const bytes = Buffer.allocUnsafeSlow(piece.length);
  let wrong = items;
  for (let mismatches = 0; wrong.length > 0 && mismatches <= MOST_MISMATCHES; mismatches++) {
    if (mismatches > 0) {
      onMoved(-piece.length);
      counters.retried(mismatchOf(wrong[0]?.piece ?? piece));
    }
    await receivePieces(engine, {
      ...partsOf(about, span),
      fd: bytes,
      mostLanes: 1,
      pieces: [piece],
      onDone: async () => undefined,
    });
    const sumOf = ({ piece: own }: Item): string => {
      const from = own.objectOffset - piece.objectOffset;
      return crc32Hex(bytes.subarray(from, from + own.length));
    };
    const isRight = new Set(items.filter((item) => sumOf(item) === item.piece.crc32));
    wrong = items.filter((item) => !isRight.has(item));
    await Promise.all(
      [...isRight].map(({ file, piece: own }) => {
        sums.set(own, own.crc32 ?? "");
        return memory.done(file.path, own, own.crc32 ?? "");
      }),
    );
  }
  return wrong;
}

const mismatchOf = ({ key, objectOffset }: Piece): Fault =>
  new Fault("CHECKSUM_MISMATCH", { op: "GetObject", subject: key, detail: `at byte ${objectOffset}` });

const damagedOf = ({ file, piece, bytes }: Item, fault: Fault): DamagedRange => ({
  path: file.path,
  from: piece.fileOffset,
  to: piece.fileOffset + bytes - 1,
  fault: fault.toData(),
});

/** Returns the report in the order of the manifest, with adjacent ranges joined; null without damage. */
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

import { Fault, isFault } from "#protocol/fault.ts";
import { checkRange } from "#storage/check-range.ts";
import { adoptRanges, followRange, type Adopted } from "./adopt-ranges.ts";
import type { EarlyRanges } from "./early-ranges.ts";
import type { Engine } from "./engine.ts";
import { fetchRange, type WantedRange } from "./fetch-range.ts";
import { MOST_LANES } from "./for-each.ts";
import { createIdleLanes } from "./idle-lanes.ts";
import { pay, type Lane } from "./limiter.ts";
import { createPins, type Pins } from "./pins.ts";
import { waitForRoom } from "./reserve.ts";
import { withRetry, type Patience } from "./retry.ts";
import { openSegments, storedLength, storedOffset, type SealedPiece } from "./sealed-piece.ts";
import { operationOf, signAhead } from "./sign-ahead.ts";
import { createSpanQueue, type KnownSpan, type PieceSpans, type Span, type SpanQueue } from "./spans.ts";
import { forgetBytes, leftOf, takeBytes } from "./take-bytes.ts";
import type { PartState } from "./tally.ts";

/**
 * Ranges of objects to positions of a file. Every byte is counted and summed while it is in hand; a range that was cut
 * short goes on where it stopped, under the same ETag, so two versions of an object are never mixed. A piece whose sum
 * is wrong is fetched again, twice; then the whole download fails and nothing is put in place.
 */
export interface Piece {
  key: string;
  /** Where the bytes lie in the object. */
  objectOffset: number;
  /** Where they go in the file. */
  fileOffset: number;
  length: number;
  /** Hex; null when nobody knows it (plain objects). */
  crc32: string | null;
  /** Pinned with If-Match, or compared where the store's ETags are not trusted so far; null when nobody knows it. */
  etag: string | null;
  /** Epoch ms by the store's clock, where a HEAD or a listing told it. */
  modifiedAtMs?: number | null;
  /** What lies in the object is encrypted: all other numbers, and `crc32`, are of the file's own bytes. */
  sealed?: SealedPiece;
  /** Of a sealed piece: it is fetched in whole segments. */
  stepBytes?: number;
}

export interface ReceiveJob {
  /** Open for writing, or memory that takes the bytes in its place; null: they are counted and summed, and nothing is kept. */
  fd: number | Buffer | null;
  path: string;
  pieces: readonly Piece[];
  signal: AbortSignal;
  patience: Patience;
  /** Most requests at a time; as many as the pieces are worth when left out. */
  mostLanes?: number;
  onMoved(bytes: number): void;
  onPiece(piece: Piece, state: PartState): void;
  /** What is in the file already of pieces that were begun: spans that do not overlap, in order. */
  known?: ReadonlyMap<Piece, readonly KnownSpan[]>;
  /** What was asked for already of the object that all pieces are of. */
  early?: EarlyRanges;
  /** A piece is in the file and its sum is right. Resolves when that is remembered. */
  onDone(piece: Piece, crc32: string): Promise<void>;
  /** Some of a piece is in the file; whether it is right only the whole piece can tell. Resolves when it is remembered. */
  onPartly(piece: Piece, span: KnownSpan): Promise<void>;
  /** The sum was wrong: whatever was remembered of the piece counts no more. Resolves when that is remembered. */
  onWrong(piece: Piece): Promise<void>;
  onRetry(fault: Fault): void;
}

export type PieceSpan = Span<Piece>;

export type Receiving = ReceiveJob & { pins: Pins };

/** Wrong bytes are fetched again twice; a third time means that they will stay wrong. */
const MOST_MISMATCHES = 2;
/** A file of one piece up to this size counts as small: it does not wait behind large ones. */
const SMALL_BYTES = 8 * 1024 * 1024;
const LEAST_BYTES_PER_LANE = 512 * 1024;
const SIGNED_AT_A_TIME = 32;

/**
 * Fetches all pieces, as many requests at a time as the engine's gate lets through.
 * Faults: OBJECT_CHANGED, RANGE_IGNORED, SIZE_MISMATCH, CHECKSUM_MISMATCH, NO_SPACE, WRITE_FAILED, those of the store, CANCELLED.
 */
export async function receivePieces(engine: Engine, wanted: ReceiveJob): Promise<void> {
  if (wanted.pieces.length === 0) return;
  const stop = new AbortController();
  const signal = AbortSignal.any([wanted.signal, stop.signal]);
  const job: Receiving = { ...wanted, signal, pins: createPins() };
  const queue = createSpanQueue(job.pieces, job.known);
  const bytes = job.pieces.reduce((sum, piece) => sum + piece.length, 0);
  const size = job.pieces.length === 1 && bytes <= SMALL_BYTES ? "small" : "large";
  const lanes = Math.min(job.mostLanes ?? MOST_LANES, Math.max(1, Math.ceil(bytes / LEAST_BYTES_PER_LANE)));
  const failures: unknown[] = [];
  const signed = signAhead(engine, job.pieces, SIGNED_AT_A_TIME);
  const idle = createIdleLanes(engine, () => queue.isDone || failures.length > 0);

  let starting = 0;
  const lane = async () => {
    while (!queue.isDone && failures.length === 0) {
      try {
        const worked = await engine.gate.run({ signal: job.signal, size }, async () => {
          const now = engine.retrier.clock.now();
          if (failures.length > 0) return null;
          const span = queue.take({
            width: engine.gate.width,
            now,
            rttMs: engine.wire.rttMs() ?? 0,
            isHeld: engine.limiter.isHolding,
            isGrown: engine.wire.grown > starting,
          });
          if (span === null) return null;
          // It has its connection in a moment; until then nobody else may count on that.
          starting++;
          setImmediate(() => starting--);
          await signed.of(span.of.piece);
          idle.next();
          await fetchSpan(engine, job, span);
          return span;
        });
        if (worked === null) await idle.wait();
        else if (await settle(job, queue, worked)) signed.done(worked.of.piece);
      } catch (error) {
        failed(error);
      } finally {
        idle.wakeIfOver();
      }
    }
  };
  const failed = (error: unknown) => {
    failures.push(error);
    // Nothing is put in place any more, so nobody needs to finish.
    stop.abort(error);
  };
  /** What a range that was asked for early brings, and what it leaves. */
  const adopted = async (one: Adopted) => {
    try {
      await followRange(engine, job, one);
      for (const span of one.spans) {
        if (leftOf(span) > 0) {
          await engine.gate.run({ signal: job.signal, size }, () => fetchSpan(engine, job, span));
        }
        await settle(job, queue, span);
      }
    } catch (error) {
      failed(error);
    } finally {
      idle.wakeIfOver();
    }
  };
  try {
    const begun = adoptRanges(engine, job, queue).map(adopted);
    await Promise.all([...begun, ...Array.from({ length: lanes }, lane)]);
  } finally {
    idle.stop();
  }
  if (failures.length > 0) throw failures[0];
}

/** When the piece is complete: right, and remembered; or wrong, and fetched again. True when nothing is left of it to do. */
async function settle(job: ReceiveJob, queue: SpanQueue<Piece>, span: PieceSpan): Promise<boolean> {
  const { of, from, received: length, crc } = span;
  const { piece } = of;
  if (!queue.finish(span)) {
    if (length > 0) await job.onPartly(piece, { from, length, crc });
    return false;
  }
  const sum = queue.sumOf(of);
  if (piece.crc32 === null || piece.crc32 === sum) {
    await job.onDone(piece, sum);
    return true;
  }
  const fault = new Fault("CHECKSUM_MISMATCH", {
    op: "GetObject",
    subject: piece.key,
    detail: `at byte ${piece.objectOffset}`,
  });
  if (of.mismatches >= MOST_MISMATCHES) throw fault;
  await job.onWrong(piece);
  job.onMoved(-queue.startOver(of));
  job.onPiece(piece, "again");
  job.onRetry(fault);
  return false;
}

/** A disk that is full is waited for like a link that is down: everything that was received stays. */
async function fetchSpan(engine: Engine, job: Receiving, span: PieceSpan): Promise<void> {
  const { clock, patienceMs, onTrouble } = engine.retrier;
  const { path, patience, signal } = job;
  for (;;) {
    try {
      await trySpan(engine, job, span);
      return;
    } catch (error) {
      if (!isFault(error) || error.code !== "NO_SPACE") throw error;
      job.onRetry(error);
      onTrouble?.(error);
      await waitForRoom(error, { path, bytes: leftOf(span), clock, patience, patienceMs, signal });
    }
  }
}

async function trySpan(engine: Engine, job: Receiving, span: PieceSpan): Promise<void> {
  const { signal, patience, onRetry } = job;
  const { piece } = span.of;
  const lane = engine.limiter.lane({ isOpen: true });
  await withRetry(engine.retrier, { signal, patience, onRetry }, async () => {
    job.onPiece(piece, "moving");
    try {
      await fetchOpening(engine, job, { span, lane });
    } catch (error) {
      if (leftOf(span) <= 0) return;
      if (isFault(error) && error.code === "UNEXPECTED_ANSWER") forgetBytes(job, span);
      if (isStillAlone(span.of)) job.onPiece(piece, signal.aborted ? "waiting" : "again");
      throw error;
    }
  });
}

/** What does not open may have been changed on its way: like wrong bytes it is fetched again twice. What did open stays. */
async function fetchOpening(engine: Engine, job: Receiving, about: { span: PieceSpan; lane: Lane }): Promise<void> {
  const { of } = about.span;
  for (;;) {
    try {
      await fetchRest(engine, job, about);
      return;
    } catch (error) {
      const isBroken = isFault(error) && error.code === "SEAL_BROKEN";
      if (!isBroken || of.mismatches >= MOST_MISMATCHES) throw error;
      of.mismatches++;
      job.onRetry(error);
    }
  }
}

const isStillAlone = (of: PieceSpans<Piece>): boolean => of.spans.length === 1;

/** What is missing of a span, in one request. Ends early, without a fault, when the rest was given to another connection. */
async function fetchRest(engine: Engine, job: Receiving, about: { span: PieceSpan; lane: Lane }): Promise<void> {
  const { span, lane } = about;
  const { piece } = span.of;
  if (leftOf(span) <= 0) return;
  const length = storedLength(piece, leftOf(span));
  const offset = piece.objectOffset + storedOffset(piece, span.from + span.received);
  const operation = operationOf(engine, piece);
  const take = (own: Buffer) => takeBytes(job, span, own);
  const opening = piece.sealed === undefined ? null : openSegments(piece, span, take);
  const sink: WantedRange["sink"] = {
    head: (answer) => {
      checkRange(answer, { offset, length, etag: operation.etag, subject: piece.key });
      // A piece with a sum of its own is held to that.
      if (operation.etag === null && piece.crc32 === null) job.pins.check(piece, answer.headers);
    },
    bytes: (chunk, leftBytes) => {
      if (opening === null) take(chunk.subarray(0, Math.max(0, leftOf(span))));
      else opening(chunk);
      span.movedAt = engine.retrier.clock.now();
      engine.meter.add(chunk.length);
      job.patience.progressed();
      if (leftOf(span) <= 0 && leftBytes > 0) return "enough";
      return pay(lane, chunk.length, signal);
    },
  };
  const drop = new AbortController();
  span.drop = () => drop.abort();
  const signal = AbortSignal.any([job.signal, drop.signal]);
  await fetchRange(engine, { operation, offset, length, signal, sink });
  if (leftOf(span) > 0) throw new Fault("TRUNCATED", { op: "GetObject", subject: piece.key });
}

import { Fault, isFault } from "#protocol/faults/fault.ts";
import { checkRange } from "#storage/answers/check-range.ts";
import type { Engine } from "../engine.ts";
import { fetchRange, type WantedRange } from "./fetch-range.ts";
import { pay, type Lane } from "../concurrency/limiter.ts";
import type { PieceSpan, Receiving } from "./receive-job.ts";
import type { Piece } from "./piece.ts";
import { waitForRoom } from "./reserve.ts";
import { withRetry } from "../store-session/retry.ts";
import { openSegments, storedLength, storedOffset } from "./sealed-piece.ts";
import { operationOf } from "../store-session/sign-ahead.ts";
import { MOST_MISMATCHES } from "./range-scheduler.ts";
import { leftOf, type PieceSpans } from "./span.ts";
import { forgetBytes, takeBytes } from "./take-bytes.ts";

/**
 * Fetches what is missing of a span, with as many retries as it takes. Waits for room on a full disk as for a link that is
 * down: all bytes received so far stay. Faults: those of the store and of the disk, SEAL_BROKEN, CANCELLED.
 */
export async function fetchSpan(engine: Engine, job: Receiving, span: PieceSpan): Promise<void> {
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

/**
 * Fetches the rest of a span. A segment that fails to decrypt may have been damaged in transit: like wrong bytes it is
 * fetched again twice. Decrypted segments stay.
 */
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

/**
 * Fetches what is missing of a span in one request. Returns early, without a fault, when another connection took over the
 * rest.
 */
async function fetchRest(engine: Engine, job: Receiving, about: { span: PieceSpan; lane: Lane }): Promise<void> {
  const { span, lane } = about;
  const { clock } = engine.retrier;
  const { piece } = span.of;
  if (leftOf(span) <= 0) return;
  const length = storedLength(piece, leftOf(span));
  const offset = piece.objectOffset + storedOffset(piece, span.from + span.received);
  const operation = operationOf(engine, piece);
  const take = (own: Buffer) => takeBytes(job, span, own);
  const opening = piece.sealed === undefined ? null : openSegments(piece, span, take);
  const sink: WantedRange["sink"] = {
    head: (answer) => {
      span.answeredAt = clock.now();
      checkRange(answer, { offset, length, etag: operation.etag, subject: piece.key });
      // A piece with a checksum is verified by that instead.
      if (operation.etag === null && piece.crc32 === null) job.etagGuard.check(piece, answer.headers);
    },
    bytes: (chunk, leftBytes) => {
      if (opening === null) take(chunk.subarray(0, Math.max(0, leftOf(span))));
      else opening(chunk);
      const now = clock.now();
      engine.stallHistory.ended(now - span.movedAt);
      span.movedAt = now;
      engine.meter.add(chunk.length);
      job.patience.progressed();
      if (leftOf(span) <= 0 && leftBytes > 0) return "enough";
      // Waiting for the bandwidth limit is not silence.
      return pay(lane, chunk.length, signal)?.then(() => void (span.movedAt = clock.now()));
    },
  };
  // Resets the times, because the span was neither silent nor slow before this request.
  span.startedAt = clock.now();
  span.movedAt = span.startedAt;
  span.answeredAt = null;
  span.before = span.received;
  const drop = new AbortController();
  span.drop = () => drop.abort();
  const signal = AbortSignal.any([job.signal, drop.signal]);
  await fetchRange(engine, { operation, offset, length, signal, sink });
  if (leftOf(span) > 0) throw new Fault("TRUNCATED", { op: "GetObject", subject: piece.key });
}

import type { Piece } from "./piece.ts";
import type { PieceSpan, ReceiveJob, Receiving } from "./receive-job.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { adoptRanges, followRange, type Adopted } from "./adopt-speculative-ranges.ts";
import type { Engine } from "../engine.ts";
import { fetchSpan } from "./fetch-span.ts";
import { MOST_LANES } from "#worker/base/for-each.ts";
import { createIdleLanes } from "../concurrency/idle-connection-scheduler.ts";
import { createEtagGuard } from "./etag-guard.ts";
import { signAhead } from "../store-session/sign-ahead.ts";
import { createSpanQueue, MOST_MISMATCHES, type SpanQueue } from "./range-scheduler.ts";
import { leftOf } from "./span.ts";

/** A file of one piece up to this size counts as small: it does not wait behind large ones. */
const SMALL_BYTES = 8 * 1024 * 1024;
const LEAST_BYTES_PER_LANE = 512 * 1024;
const SIGNED_AT_A_TIME = 32;
const OVER = new Fault("CANCELLED", { detail: "everything is there" });

/**
 * Fetches ranges of objects into a file, with as many parallel requests as the engine's semaphore admits. Each byte is
 * counted and summed when it arrives. An interrupted range resumes where it stopped, under the same ETag, so two versions of
 * an object are never mixed. A piece whose checksum is wrong is fetched again, twice; then the whole download fails and
 * nothing is put in place. Faults: OBJECT_CHANGED, RANGE_IGNORED, SIZE_MISMATCH, CHECKSUM_MISMATCH, NO_SPACE, WRITE_FAILED,
 * those of the store, CANCELLED.
 */
export async function receivePieces(engine: Engine, wanted: ReceiveJob): Promise<void> {
  if (wanted.pieces.length === 0) return;
  const stop = new AbortController();
  const signal = AbortSignal.any([wanted.signal, stop.signal]);
  const job: Receiving = { ...wanted, signal, etagGuard: createEtagGuard() };
  const queue = createSpanQueue(job.pieces, job.known);
  const bytes = job.pieces.reduce((sum, piece) => sum + piece.length, 0);
  const size = job.pieces.length === 1 && bytes <= SMALL_BYTES ? "small" : "large";
  const lanes = Math.min(job.mostLanes ?? MOST_LANES, Math.max(1, Math.ceil(bytes / LEAST_BYTES_PER_LANE)));
  const failures: unknown[] = [];
  const signed = signAhead(engine, job.pieces, SIGNED_AT_A_TIME);
  /** Spans being verified or recorded: their piece may turn out to be wrong and start over. */
  let settling = 0;
  const isOver = () => (queue.isDone && settling === 0) || failures.length > 0;
  const settled = async (span: PieceSpan): Promise<boolean> => {
    settling++;
    try {
      return await settle(job, queue, span);
    } finally {
      settling--;
    }
  };
  const giving = () => ({
    now: engine.retrier.clock.now(),
    rttMs: engine.httpClient.rttMs() ?? 0,
    silentMs: engine.stallHistory.longestMs(),
    hasRoom: engine.room.isFree,
  });
  const idle = createIdleLanes(engine, {
    isOver,
    wantsMore: () => !engine.limiter.isHolding && queue.wantsMore(giving()),
  });
  // Ends waits for the semaphore when nothing is left to fetch: a lane would wait there for requests of other transfers.
  const over = new AbortController();
  const inLine = AbortSignal.any([job.signal, over.signal]);
  const endIfOver = () => {
    if (isOver()) over.abort(OVER);
    idle.wakeIfOver();
  };

  let starting = 0;
  const lane = async () => {
    while (!isOver()) {
      try {
        const worked = await engine.semaphore.run({ signal: inLine, size }, async () => {
          if (failures.length > 0) return null;
          const span = queue.take({
            ...giving(),
            width: engine.semaphore.width,
            isHeld: engine.limiter.isHolding,
            isGrown: engine.httpClient.grown > starting,
          });
          if (span === null) return null;
          // Counts this span until it has its connection, so that no other lane counts on the same connection.
          starting++;
          setImmediate(() => starting--);
          await signed.of(span.of.piece);
          idle.next();
          await fetchSpan(engine, job, span);
          return span;
        });
        if (worked === null) await idle.wait();
        else if (await settled(worked)) signed.done(worked.of.piece);
      } catch (error) {
        if (error !== OVER) failed(error);
      } finally {
        endIfOver();
      }
    }
  };
  const failed = (error: unknown) => {
    failures.push(error);
    // The download has failed, so no other request needs to finish.
    stop.abort(error);
  };
  /** Follows a speculative range, then fetches what is missing of its spans. */
  const adopted = async (one: Adopted) => {
    try {
      await followRange(engine, job, one);
      for (const span of one.spans) {
        if (leftOf(span) > 0) {
          await engine.semaphore.run({ signal: job.signal, size }, () => fetchSpan(engine, job, span));
        }
        await settled(span);
      }
    } catch (error) {
      failed(error);
    } finally {
      endIfOver();
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

/**
 * Ends a span. With the last span of a piece, records the piece when it is right and schedules it again when it is wrong.
 * Returns whether nothing is left to do for the piece.
 */
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

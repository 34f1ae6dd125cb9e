import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import { quoteEtag } from "#storage/answers/check-range.ts";
import type { EarlyRange } from "./speculative-ranges.ts";
import type { Engine } from "../engine.ts";
import { pay } from "../concurrency/limiter.ts";
import type { PieceSpan, Receiving } from "./receive-job.ts";
import type { Piece } from "./piece.ts";
import type { SpanQueue } from "./range-scheduler.ts";
import { leftOf } from "./span.ts";
import { forgetBytes, takeBytes } from "./take-bytes.ts";

/** A speculative range, and the spans that its bytes fill, one after the other without a gap. */
export interface Adopted {
  range: EarlyRange;
  spans: PieceSpan[];
}

/** Claims spans for the speculative ranges of a job. Drops ranges that fill none. */
export function adoptRanges(engine: Engine, job: Receiving, queue: SpanQueue<Piece>): Adopted[] {
  const [first] = job.pieces;
  if (job.early === undefined || first === undefined) return [];
  const { key, etag } = first;
  const isPlain = job.pieces.every((piece) => piece.key === key && piece.etag === etag && piece.sealed === undefined);
  if (etag === null || !isPlain) {
    job.early.drop();
    return [];
  }
  const pieces = job.pieces.toSorted((a, b) => a.objectOffset - b.objectOffset);
  const now = engine.retrier.clock.now();
  const adopted: Adopted[] = [];
  const check = (headers: HttpAnswer["headers"]) => {
    // Compared even where ETags are not trusted: a range in doubt is fetched again.
    if (quoteEtag(headers["etag"]?.trim() ?? "") !== quoteEtag(etag)) {
      throw new Fault("OBJECT_CHANGED", { op: "GetObject", subject: key });
    }
    job.etagGuard.check(first, headers);
  };
  for (const range of job.early.take(key, check)) {
    const spans: PieceSpan[] = [];
    let at = range.from;
    for (const piece of pieces) {
      const { objectOffset, length } = piece;
      if (at < objectOffset || at >= objectOffset + length || at >= range.to) continue;
      const to = Math.min(range.to - objectOffset, length);
      const span = queue.claim(piece, { from: at - objectOffset, to, now });
      if (span === null) break;
      spans.push(span);
      at = objectOffset + to;
    }
    if (spans.length > 0) adopted.push({ range, spans });
    else range.drop();
  }
  return adopted;
}

/**
 * Fills the spans with the bytes of the range; the caller fetches what is then missing. Throws no faults: each would come
 * again in that fetch, which retries.
 */
export async function followRange(engine: Engine, job: Receiving, { range, spans }: Adopted): Promise<void> {
  const lane = engine.limiter.lane({ isOpen: true });
  let position = range.from;
  const last = spans.at(-1);
  const end = last === undefined ? position : last.of.piece.objectOffset + last.to;
  for (const span of spans) {
    span.drop = range.drop;
    job.onPiece(span.of.piece, "moving");
  }
  /** Returns the span that holds the next byte; null when another connection fetches it. */
  const current = () => {
    const span = spans.find((one) => leftOf(one) > 0) ?? null;
    const isNext = span !== null && span.of.piece.objectOffset + span.from + span.received === position;
    return isNext ? span : null;
  };
  const bytes = (chunk: Buffer) => {
    let used = 0;
    for (let span = current(); span !== null && used < chunk.length; span = current()) {
      const own = chunk.subarray(used, used + leftOf(span));
      takeBytes(job, span, own);
      used += own.length;
      position += own.length;
    }
    const now = engine.retrier.clock.now();
    // Later spans count as moving, too: their connection is not silent.
    for (const span of spans) {
      span.answeredAt ??= now;
      span.movedAt = now;
    }
    engine.meter.add(chunk.length);
    job.patience.progressed();
    if (used < chunk.length || (position < end && current() === null)) return "enough";
    return pay(lane, chunk.length, job.signal);
  };
  job.signal.addEventListener("abort", range.drop, { once: true });
  if (job.signal.aborted) range.drop();
  try {
    await range.follow(bytes);
  } catch (error) {
    if (!isFault(error) || error.code === "CANCELLED") return;
    if (error.code === "UNEXPECTED_ANSWER") for (const span of spans) forgetBytes(job, span);
    if (spans.some((span) => leftOf(span) > 0)) job.onRetry(error);
  } finally {
    job.signal.removeEventListener("abort", range.drop);
  }
}

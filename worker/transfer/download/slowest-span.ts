import { leftOf, type Span } from "./span.ts";

/** A shorter rest is not worth a request of its own. */
const LEAST_SPLIT_BYTES = 64 * 1024;
/** A rest that ends within this many round trips is not split: a new request would bring it no sooner. */
const WORTH_ROUND_TRIPS = 1.6;
const LEAST_GAIN_MS = 10;
/** From this RTT on, a new connection needs a while to grow. Only a rest that takes longer than `GROWING` is split for it. */
const FAR_MS = 10;
const GROWING = { ms: 1_000, roundTrips: 12 };
/** A connection that brings no more per round trip, long after its slow start, is as slow as a new one. */
const FIRST_WINDOW_BYTES = 10 * 1_460;
const SETTLED_ROUND_TRIPS = 10;
/** Round trips at its own rate for which a cut connection keeps bytes. */
const KEPT_ROUND_TRIPS = 1.15;
/** A connection silent for this long counts as dead while others are idle. */
const SILENT_MS = 1_500;
const SILENT_ROUND_TRIPS = 6;
/** Nor does a connection count as dead before this multiple of the longest silence after which others went on. */
const LONGER_THAN_OTHERS = 3;

/** State of the link when an idle connection looks for work. */
export interface Giving {
  now: number;
  rttMs: number;
  /** Longest recent silence after which a connection went on, ms. */
  silentMs: number;
  isGrown: boolean;
  /** Returns whether a recent handshake met no queue. Called only where that matters. */
  hasRoom(): boolean;
}

/**
 * Returns the offset at which to cut a span. The other connection gets half of the bytes that the present one cannot fetch
 * before the new request is answered.
 */
function cutOf<P extends { stepBytes?: number }>(span: Span<P>, about: { leftMs: number; rttMs: number }): number {
  const { of, to } = span;
  const left = leftOf(span);
  const own = Math.ceil((left * KEPT_ROUND_TRIPS * about.rttMs) / about.leftMs);
  const given = Math.min(left - own, Math.max(LEAST_SPLIT_BYTES, Math.ceil((left - own) / 2)));
  const { stepBytes = 1 } = of.piece;
  return Math.ceil((to - given) / stepBytes) * stepBytes;
}

/** Returns the active span that would end last, if another connection could bring half of its rest sooner; else null. */
export function findSlowest<P extends { stepBytes?: number }>(
  active: Iterable<Span<P>>,
  about: Giving,
): { span: Span<P>; cut: number } | null {
  const { now, rttMs, isGrown, hasRoom } = about;
  const silentFromMs = silentFrom(about);
  let slowest: { span: Span<P>; cut: number } | null = null;
  let longestMs = LEAST_GAIN_MS + WORTH_ROUND_TRIPS * rttMs;
  for (const span of active) {
    const left = leftOf(span);
    const { answeredAt, before, received, startedAt } = span;
    // A span that has just begun has no known rate.
    if (received === before || left < 2 * LEAST_SPLIT_BYTES) continue;
    if (answeredAt === null || now - answeredAt < LEAST_GAIN_MS) continue;
    // On a short link a span must bring bytes after a cut before it is cut again. On a long link others would be idle for a
    // round trip meanwhile.
    if (rttMs < FAR_MS && received === span.cutWith) continue;
    // A silent span is not cut: the scheduler takes it over as a whole.
    if (now - span.movedAt > silentFromMs) continue;
    // The time that a busy store took to answer is not part of the rate.
    const ownMs = now - Math.max(startedAt, answeredAt - 2 * rttMs);
    const leftMs = (left * ownMs) / (received - before);
    if (leftMs <= longestMs) continue;
    const cut = cutOf(span, { leftMs, rttMs });
    if (cut >= span.to) continue;
    slowest = { span, cut };
    longestMs = leftMs;
  }
  if (slowest === null || isGrown || rttMs < FAR_MS) return slowest;
  // A new connection must grow first and would end later than the present one, unless losses keep that one slow.
  if (longestMs >= GROWING.ms + GROWING.roundTrips * rttMs) return slowest;
  const { span } = slowest;
  const isSettled = now - span.startedAt >= SETTLED_ROUND_TRIPS * rttMs;
  const isHeldDown = isSettled && leftOf(span) * rttMs <= FIRST_WINDOW_BYTES * longestMs;
  return isHeldDown && hasRoom() ? slowest : null;
}

/** Returns after how many milliseconds without a byte a connection counts as silent. */
export function silentFrom({ rttMs, silentMs }: Pick<Giving, "rttMs" | "silentMs">): number {
  return Math.max(SILENT_MS, SILENT_ROUND_TRIPS * rttMs, LONGER_THAN_OTHERS * silentMs);
}

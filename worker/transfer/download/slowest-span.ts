import { leftOf, type Span } from "./span.ts";

/** Less than this is not worth a request of its own. */
const LEAST_SPLIT_BYTES = 64 * 1024;
/** Nor is a rest that comes about as soon as a new request could bring it. */
const WORTH_ROUND_TRIPS = 1.6;
const LEAST_GAIN_MS = 10;
/** From here on a connection needs a while to grow; what would take longer than that is worth it. */
const FAR_MS = 10;
const GROWING = { ms: 1_000, roundTrips: 12 };
/** Who brings no more than this in a round trip, long after its slow start, is as slow as a new one. */
const FIRST_WINDOW_BYTES = 10 * 1_460;
const SETTLED_ROUND_TRIPS = 10;
/** What a connection keeps of its rest, in round trips of its own rate. */
const KEPT_ROUND_TRIPS = 1.15;
/** A connection that brought nothing for this long is taken for dead while others stand idle. */
const SILENT_MS = 1_500;
const SILENT_ROUND_TRIPS = 6;
/** And not, where others were nearly as long silent and went on. */
const LONGER_THAN_OTHERS = 3;

/** About a connection that has nothing to do. */
export interface Giving {
  now: number;
  rttMs: number;
  /** How long others were silent of late, and went on. */
  silentMs: number;
  isGrown: boolean;
  /** A handshake just now met no queue. Asked only where that matters. */
  hasRoom(): boolean;
}

/** Returns where a connection would be cut short for another one, which takes half of what it cannot do itself until that could. */
function cutOf<P extends { stepBytes?: number }>(span: Span<P>, about: { leftMs: number; rttMs: number }): number {
  const { of, to } = span;
  const left = leftOf(span);
  const own = Math.ceil((left * KEPT_ROUND_TRIPS * about.rttMs) / about.leftMs);
  const given = Math.min(left - own, Math.max(LEAST_SPLIT_BYTES, Math.ceil((left - own) / 2)));
  const { stepBytes = 1 } = of.piece;
  return Math.ceil((to - given) / stepBytes) * stepBytes;
}

/** Returns the span of `active` that would end last, where another connection could bring half of its rest sooner. */
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
    // One that has only just begun says nothing of its rate.
    if (received === before || left < 2 * LEAST_SPLIT_BYTES) continue;
    if (answeredAt === null || now - answeredAt < LEAST_GAIN_MS) continue;
    // Nor one that brought nothing since it was cut; from afar that is a round trip, and that long others would stand idle.
    if (rttMs < FAR_MS && received === span.cutWith) continue;
    // Of those that are silent one is tried, and all of it.
    if (now - span.movedAt > silentFromMs) continue;
    // How long a busy store let it wait for its answer is not its rate.
    const ownMs = now - Math.max(startedAt, answeredAt - 2 * rttMs);
    const leftMs = (left * ownMs) / (received - before);
    if (leftMs <= longestMs) continue;
    const cut = cutOf(span, { leftMs, rttMs });
    if (cut >= span.to) continue;
    slowest = { span, cut };
    longestMs = leftMs;
  }
  if (slowest === null || isGrown || rttMs < FAR_MS) return slowest;
  // One that has to grow first would bring the rest later than the one that has it, unless losses keep that from growing.
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

import { combineCrc32, sumToHex } from "#storage/checksums/combine-crc32.ts";
import { createReplacements } from "../concurrency/replacements.ts";
import { findSlowest, silentFrom, type Giving } from "./slowest-span.ts";
import { leftOf, type KnownSpan, type PieceSpans, type Span } from "./span.ts";

/**
 * Cuts the pieces of a download into requests. A piece (the unit with a checksum) is fetched in one or more spans, each by
 * one connection. A free connection gets a large span at first and a smaller one towards the end, so that all end at about
 * the same time. When no span is left, an idle connection takes half of what the slowest one still has to fetch. It takes all
 * of it when that connection is silent. While a bandwidth limit bounds the rate (`isHeld`), nothing is split. Splitting would
 * gain nothing, and bytes in the buffers of the cut connection would be fetched twice. On a busy CPU rates mean little and
 * would cause split after split, so the total of split bytes is bounded.
 *
 * Pieces with `stepBytes` are cut between two steps, and count as received step by step.
 *
 * Only bookkeeping: no I/O, no clock of its own.
 */
export interface SpanQueue<P> {
  /**
   * Returns the next span to fetch; null when there is none at present. `isGrown`: the connection that will fetch it is past
   * its slow start.
   */
  take(about: Giving & { width: number; isHeld: boolean }): Span<P> | null;
  /** Returns whether one more connection, although a new one, would bring something sooner. */
  wantsMore(about: Omit<Giving, "isGrown">): boolean;
  /** Claims a range of a piece that was requested before the plan existed; null when part of it is handed out already. */
  claim(piece: P, range: { from: number; to: number; now: number }): Span<P> | null;
  /** Ends a span that was received completely. Returns whether it was the last one of its piece. */
  finish(span: Span<P>): boolean;
  /** Schedules the whole piece again. Returns the bytes of it that had counted as received. */
  startOver(piece: PieceSpans<P>): number;
  /** Returns the CRC32 of a piece, hex. All its spans must have been received. */
  sumOf(piece: PieceSpans<P>): string;
  /** Whether no piece is left to hand out or in progress. */
  readonly isDone: boolean;
}

/** Wrong bytes are fetched again twice; a third time means that they will stay wrong. */
export const MOST_MISMATCHES = 2;
const ALIGN_BYTES = 64 * 1024;
const LEAST_SPAN_BYTES = 2 * 1024 * 1024;
/** Spans in which each connection gets its share of the remaining bytes. */
const SPANS_PER_CONNECTION = 1.25;
/**
 * Split bytes may reach this multiple of the bytes in progress at the first split. A large file needs a multiple of 0.2 to
 * 0.4. A file with fewer spans than connections needs 1, just to give each connection its share.
 */
const MOST_GIVEN = 2;

/**
 * Creates a queue. `known`: spans already received of pieces begun earlier: in order, without overlap, and less than the
 * piece.
 */
export function createSpanQueue<P extends { length: number; stepBytes?: number }>(
  pieces: readonly P[],
  known: ReadonlyMap<P, readonly KnownSpan[]> = new Map(),
): SpanQueue<P> {
  const all = pieces.map((piece) => beginPiece(piece, known.get(piece) ?? []));
  const open = new Set(all);
  const active = new Set<Span<P>>();
  let waiting: PieceSpans<P>[] = [...all];
  let waitingBytes = all.reduce((sum, { gaps }) => sum + gaps.reduce((bytes, gap) => bytes + gap.to - gap.from, 0), 0);
  /** Bytes that may still be split off. Infinity until the first split after a span was handed out. */
  let givableBytes = Infinity;

  const begin = (of: PieceSpans<P>, range: { from: number; to: number; now: number; takeovers: number }): Span<P> => {
    const span = spanOf(of, range);
    of.spans.push(span);
    active.add(span);
    return span;
  };
  const hand = (about: { width: number; now: number }): Span<P> | null => {
    const [of] = waiting;
    const gap = of?.gaps[0];
    if (of === undefined || gap === undefined) return null;
    const share = about.width === 1 ? of.length : waitingBytes / (SPANS_PER_CONNECTION * about.width);
    const align = of.piece.stepBytes ?? ALIGN_BYTES;
    const spanBytes = Math.ceil(Math.max(LEAST_SPAN_BYTES, share) / align) * align;
    const rest = gap.to - gap.from;
    // A small rest is included, because it would cost a request of its own.
    const length = rest < spanBytes * 1.5 ? rest : spanBytes;
    const span = begin(of, { from: gap.from, to: gap.from + length, now: about.now, takeovers: 0 });
    waitingBytes -= length;
    givableBytes = Infinity;
    gap.from += length;
    if (gap.from === gap.to) of.gaps.shift();
    if (of.gaps.length === 0) waiting.shift();
    return span;
  };
  const slowestOf = (about: Giving) => (givableBytes <= 0 ? null : findSlowest(active, about));
  const replacements = createReplacements<Span<P>>(({ answeredAt }) => answeredAt);
  const split = (about: Giving): Span<P> | null => {
    const { now } = about;
    const silentFromMs = silentFrom(about);
    // Doubles with each takeover: while the link itself is down, every connection is silent.
    const isSilent = (span: Span<P>) => leftOf(span) > 0 && now - span.movedAt > silentFromMs * 2 ** span.takeovers;
    const silent = active.values().find(isSilent);
    if (silent !== undefined && replacements.mayAsk({ now, soonMs: silentFromMs })) return takeOver(silent, now);
    const slowest = slowestOf(about);
    if (slowest === null) return null;
    const { span, cut } = slowest;
    const { to } = span;
    if (givableBytes === Infinity) givableBytes = MOST_GIVEN * [...active].reduce((sum, one) => sum + leftOf(one), 0);
    givableBytes -= to - cut;
    span.to = cut;
    span.cutWith = span.received;
    return begin(span.of, { from: cut, to, now, takeovers: 0 });
  };
  const takeOver = (span: Span<P>, now: number): Span<P> => {
    const { of, to, takeovers } = span;
    const at = span.from + span.received;
    span.to = at;
    span.drop?.();
    const next = begin(of, { from: at, to, now, takeovers: takeovers + 1 });
    replacements.asked(next, now);
    return next;
  };
  return {
    get isDone() {
      return open.size === 0;
    },
    wantsMore: (about) => waiting.length > 0 || slowestOf({ ...about, isGrown: false }) !== null,
    take: (about) => hand(about) ?? (about.isHeld ? null : split(about)),
    claim: (piece, { from, to, now }) => {
      const of = waiting.find((one) => one.piece === piece);
      const at = of?.gaps.findIndex((gap) => gap.from <= from && to <= gap.to) ?? -1;
      const gap = of?.gaps[at];
      if (of === undefined || gap === undefined) return null;
      const rest = [
        { from: gap.from, to: from },
        { from: to, to: gap.to },
      ];
      of.gaps.splice(at, 1, ...rest.filter((one) => one.to > one.from));
      if (of.gaps.length === 0) waiting = waiting.filter((one) => one !== of);
      waitingBytes -= to - from;
      return begin(of, { from, to, now, takeovers: 0 });
    },
    finish: (span) => {
      active.delete(span);
      const { of } = span;
      if (of.gaps.length > 0 || of.spans.some((other) => active.has(other))) return false;
      open.delete(of);
      return true;
    },
    startOver: (of) => {
      for (const span of of.spans) active.delete(span);
      of.spans = [];
      of.gaps = [{ from: 0, to: of.length }];
      of.mismatches++;
      open.add(of);
      waiting = [of, ...waiting];
      waitingBytes += of.length;
      return of.length;
    },
    sumOf: (of) =>
      [...of.spans]
        .sort((a, b) => a.from - b.from)
        .reduce(
          (sum, span) => (span.received === 0 ? sum : combineCrc32(sum, sumToHex(span.crc), span.received)),
          "00000000",
        ),
  };
}

function spanOf<P>(
  of: PieceSpans<P>,
  { from, to, now, takeovers }: { from: number; to: number; now: number; takeovers: number },
): Span<P> {
  const clock = { startedAt: now, answeredAt: null, before: 0, cutWith: null, movedAt: now };
  return { of, from, to, received: 0, crc: 0, ...clock, takeovers, drop: null };
}

function beginPiece<P extends { length: number }>(piece: P, known: readonly KnownSpan[]): PieceSpans<P> {
  const begun: PieceSpans<P> = { piece, length: piece.length, spans: [], gaps: [], mismatches: 0 };
  let at = 0;
  for (const { from, length, crc } of known) {
    if (from > at) begun.gaps.push({ from: at, to: from });
    at = from + length;
    begun.spans.push({ ...spanOf(begun, { from, to: at, now: 0, takeovers: 0 }), received: length, crc });
  }
  if (at < piece.length) begun.gaps.push({ from: at, to: piece.length });
  return begun;
}

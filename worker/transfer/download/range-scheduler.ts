import { combineCrc32, sumToHex } from "#storage/checksums/combine-crc32.ts";
import { createReplacements } from "../concurrency/replacements.ts";
import { findSlowest, silentFrom, type Giving } from "./slowest-span.ts";
import { leftOf, type KnownSpan, type PieceSpans, type Span } from "./span.ts";

/**
 * How the pieces of a download are cut into requests. A piece (what has a checksum) is fetched in one or more spans, each
 * by one connection. Spans are handed out when a connection is free: large ones while there is much left, smaller ones
 * towards the end, so that all connections end at about the same time. When nothing is left to hand out, half of what
 * the slowest connection still has to do is given to an idle one, or all of it when that connection has fallen silent.
 * Where a bandwidth limit is what holds them all (`isHeld`), that would bring nothing sooner, and throw away what is in
 * the buffers of the connection that is cut short: bytes that the limited link carries twice. On a machine that
 * is short of processors rates say nothing, and connections would be cut short again and again: what is given on has a bound.
 *
 * What is fetched in steps (`stepBytes` of a piece) is cut between two of them, and counts as received step by step.
 *
 * Only bookkeeping: no I/O, no clock of its own.
 */
export interface SpanQueue<P> {
  /**
   * The next span to fetch; null when there is none just now. `isGrown`: it is going to be fetched by a connection that is past
   * its slow start.
   */
  take(about: Giving & { width: number; isHeld: boolean }): Span<P> | null;
  /** Another connection, although a new one, would bring something sooner. */
  wantsMore(about: Omit<Giving, "isGrown">): boolean;
  /** What is already on its way of a piece, asked for before there was a plan; null when not all of it is left to hand out. */
  claim(piece: P, range: { from: number; to: number; now: number }): Span<P> | null;
  /** It was received to its end. True when it was the last one of its piece. */
  finish(span: Span<P>): boolean;
  /** Everything of the piece has to come again. Returns the bytes that counted as received. */
  startOver(piece: PieceSpans<P>): number;
  /** Hex; of a piece whose spans are all there. */
  sumOf(piece: PieceSpans<P>): string;
  /** Nothing is left, in hand or under way. */
  readonly isDone: boolean;
}

/** Wrong bytes are fetched again twice; a third time means that they will stay wrong. */
export const MOST_MISMATCHES = 2;
const ALIGN_BYTES = 64 * 1024;
const LEAST_SPAN_BYTES = 2 * 1024 * 1024;
/** Each connection gets its share of the rest in so many spans. */
const SPANS_PER_CONNECTION = 1.25;
/**
 * In all so many times what was under way at first is given on. A large file needs 0.2 to 0.4 of it; one that has fewer spans
 * than there are connections, once only to give each of them its share.
 */
const MOST_GIVEN = 2;

/** `known`: for pieces that were begun, what is there already: spans that do not overlap, in order, less than the piece. */
export function createSpanQueue<P extends { length: number; stepBytes?: number }>(
  pieces: readonly P[],
  known: ReadonlyMap<P, readonly KnownSpan[]> = new Map(),
): SpanQueue<P> {
  const all = pieces.map((piece) => beginPiece(piece, known.get(piece) ?? []));
  const open = new Set(all);
  const active = new Set<Span<P>>();
  let waiting: PieceSpans<P>[] = [...all];
  let waitingBytes = all.reduce((sum, { gaps }) => sum + gaps.reduce((bytes, gap) => bytes + gap.to - gap.from, 0), 0);
  /** What may still be given on; counted from the first time that nothing was left to hand out. */
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
    const wished = Math.ceil(Math.max(LEAST_SPAN_BYTES, share) / align) * align;
    const rest = gap.to - gap.from;
    // A crumb at the end would cost a request.
    const length = rest < wished * 1.5 ? rest : wished;
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
    // Twice as long each time: while the link itself is down, everything is silent.
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

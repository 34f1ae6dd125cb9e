/** A range of a piece, fetched by one connection. */
export interface Span<P> {
  readonly of: PieceSpans<P>;
  /** Offset from the start of the piece. */
  readonly from: number;
  /** Exclusive end; shrinks when another connection takes over the rest. */
  to: number;
  received: number;
  crc: number;
  /** Time of the present request. */
  startedAt: number;
  /** Time at which the answer to it began; null before. */
  answeredAt: number | null;
  /** Bytes that earlier requests received. */
  before: number;
  /** Value of `received` when the span was last cut; null before. */
  cutWith: number | null;
  movedAt: number;
  /** Number of times that its bytes were taken over from a silent connection. */
  readonly takeovers: number;
  /** Ends the present request; set by the function that fetches the span. */
  drop: (() => void) | null;
}

/** A piece and the state of its spans. */
export interface PieceSpans<P> {
  readonly piece: P;
  readonly length: number;
  spans: Span<P>[];
  /** Ranges not handed out yet, in order. */
  gaps: { from: number; to: number }[];
  mismatches: number;
}

/** Bytes of a piece that an earlier process wrote to the file. `from`: offset in the piece. */
export interface KnownSpan {
  from: number;
  length: number;
  crc: number;
}

/** Returns the number of bytes of a span still to come. */
export const leftOf = ({ from, to, received }: Span<unknown>): number => to - from - received;

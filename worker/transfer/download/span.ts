/** One stretch of a piece, fetched by one connection. */
export interface Span<P> {
  readonly of: PieceSpans<P>;
  /** From the start of the piece. */
  readonly from: number;
  /** Exclusive; becomes smaller when the rest is given to somebody else. */
  to: number;
  received: number;
  crc: number;
  /** When the request that is under way for it was made. */
  startedAt: number;
  /** When the answer to it began; null before. */
  answeredAt: number | null;
  /** Of what was received, the bytes that earlier requests brought. */
  before: number;
  /** What had been received of it when it was cut short the last time. */
  cutWith: number | null;
  movedAt: number;
  /** How often its bytes were taken from a connection that had fallen silent. */
  readonly takeovers: number;
  /** Ends the request that is under way for it; set by who fetches it. */
  drop: (() => void) | null;
}

/** A piece, and how far its bytes are handed out. */
export interface PieceSpans<P> {
  readonly piece: P;
  readonly length: number;
  spans: Span<P>[];
  /** Not handed out yet, in order. */
  gaps: { from: number; to: number }[];
  mismatches: number;
}

/** Bytes of a piece that are in the file from an earlier life of the process; `from` the start of the piece. */
export interface KnownSpan {
  from: number;
  length: number;
  crc: number;
}

/** Bytes of it still to come. */
export const leftOf = ({ from, to, received }: Span<unknown>): number => to - from - received;

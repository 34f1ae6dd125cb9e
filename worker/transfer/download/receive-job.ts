import type { Fault } from "#protocol/faults/fault.ts";
import type { PartState } from "../progress/transfer-progress.ts";
import type { Patience } from "../store-session/retry.ts";
import type { Pins } from "./etag-guard.ts";
import type { Piece } from "./piece.ts";
import type { KnownSpan, Span } from "./span.ts";
import type { EarlyRanges } from "./speculative-ranges.ts";

/** One file to receive. */
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

/** A span of a piece of a file. */
export type PieceSpan = Span<Piece>;

/** A job with the ETags that its answers must have. */
export type Receiving = ReceiveJob & { pins: Pins };

import type { Fault } from "#protocol/faults/fault.ts";
import type { PartState } from "../progress/transfer-progress.ts";
import type { Patience } from "../store-session/retry.ts";
import type { EtagGuard } from "./etag-guard.ts";
import type { Piece } from "./piece.ts";
import type { KnownSpan, Span } from "./span.ts";
import type { EarlyRanges } from "./speculative-ranges.ts";

/** One file to receive. */
export interface ReceiveJob {
  /** File descriptor open for writing, or a buffer for the bytes; null: bytes are counted and summed but not kept. */
  fd: number | Buffer | null;
  path: string;
  pieces: readonly Piece[];
  signal: AbortSignal;
  patience: Patience;
  /** Most parallel requests. Default: as many as the size of the pieces justifies. */
  mostLanes?: number;
  onMoved(bytes: number): void;
  onPiece(piece: Piece, state: PartState): void;
  /** Spans of begun pieces that are in the file already: in order and without overlap. */
  known?: ReadonlyMap<Piece, readonly KnownSpan[]>;
  /** Ranges requested speculatively from the object that all pieces belong to. */
  early?: EarlyRanges;
  /** Called when a piece is in the file and its checksum is right. Resolves when that is recorded. */
  onDone(piece: Piece, crc32: string): Promise<void>;
  /** Called when a span of a piece is in the file; only the whole piece can be verified. Resolves when that is recorded. */
  onPartly(piece: Piece, span: KnownSpan): Promise<void>;
  /** Called when the checksum was wrong: earlier records of the piece are void. Resolves when that is recorded. */
  onWrong(piece: Piece): Promise<void>;
  onRetry(fault: Fault): void;
}

/** A span of a piece of a file. */
export type PieceSpan = Span<Piece>;

/** A job with the guard that holds its answers to one version of each object. */
export type Receiving = ReceiveJob & { etagGuard: EtagGuard };

import { writeSync } from "node:fs";
import { crc32 } from "node:zlib";
import { Fault, isFault } from "#protocol/fault.ts";
import type { Operation } from "#protocol/operations.ts";
import { checkRange } from "#storage/answers.ts";
import { faultOfAnswer } from "#storage/faults.ts";
import { diskFault } from "./disk-fault.ts";
import { callStore, type Engine } from "./engine.ts";
import { forEachOf } from "./gate.ts";
import { withRetry, type Patience } from "./retry.ts";
import type { PartState } from "./tally.ts";
import type { Sink } from "./wire.ts";

/**
 * Ranges of objects to positions of a file. Every byte is counted and summed while it is in hand; a range that was cut
 * short goes on where it stopped, under the same ETag, so two versions of an object are never mixed. A range whose sum
 * is wrong is fetched again, twice; then the whole download fails and nothing is put in place.
 */
export interface Piece {
  key: string;
  /** Where the bytes lie in the object. */
  objectOffset: number;
  /** Where they go in the file. */
  fileOffset: number;
  length: number;
  /** Hex; null when nobody knows it (plain objects). */
  crc32: string | null;
  /** Pinned with If-Match; null when the store's ETags mean nothing. */
  etag: string | null;
}

export interface ReceiveJob {
  /** Open for writing. */
  fd: number;
  path: string;
  pieces: readonly Piece[];
  signal: AbortSignal;
  patience: Patience;
  onMoved(bytes: number): void;
  onPiece(piece: Piece, state: PartState): void;
  /** A piece is in the file and its sum is right. Resolves when that is remembered. */
  onDone(piece: Piece, crc32: string): Promise<void>;
  onRetry(fault: Fault): void;
}

/**
 * Fetches all pieces, as many at a time as the engine's gate lets through.
 * Faults: OBJECT_CHANGED, RANGE_IGNORED, SIZE_MISMATCH, CHECKSUM_MISMATCH, NO_SPACE, WRITE_FAILED, those of the store, CANCELLED.
 */
export async function receivePieces(engine: Engine, job: ReceiveJob): Promise<void> {
  await forEachOf(job.pieces, engine.connections, (piece) =>
    engine.gate.run(job.signal, () => receivePiece(engine, job, piece)),
  );
}

async function receivePiece(engine: Engine, job: ReceiveJob, piece: Piece): Promise<void> {
  const { signal, patience, onRetry } = job;
  let received = 0;
  let sum = 0;
  const lane = engine.limiter.lane({ isOpen: true });
  const operation: Operation = {
    op: "get",
    key: piece.key,
    offset: piece.objectOffset,
    length: piece.length,
    etag: engine.traits.trustEtag ? piece.etag : null,
  };
  const sinkOf = (offset: number, length: number): Sink => ({
    head: (answer) => checkRange(answer, { offset, length, etag: operation.etag, subject: piece.key }),
    bytes: async (chunk, watchdog) => {
      if (received + chunk.length > piece.length) {
        throw new Fault("UNEXPECTED_ANSWER", {
          op: "GetObject",
          subject: piece.key,
          detail: "more bytes than were asked for",
        });
      }
      writeAll(job, chunk, piece.fileOffset + received);
      sum = crc32(chunk, sum);
      received += chunk.length;
      engine.meter.add(chunk.length);
      job.onMoved(chunk.length);
      patience.progressed();
      watchdog.pause();
      await lane.take(chunk.length, watchdog.signal);
      watchdog.touch();
    },
  });
  const startAgain = () => {
    job.onMoved(-received);
    received = 0;
    sum = 0;
  };
  const fetchRest = async () => {
    job.onPiece(piece, "moving");
    const offset = piece.objectOffset + received;
    const length = piece.length - received;
    if (length > 0) {
      // The range is sent but not signed, so the rest can be fetched under the same signature.
      const headers = { range: `bytes=${offset}-${offset + length - 1}` };
      const sink = sinkOf(offset, length);
      await callStore(engine, { operation, signal, headers, sink }, (answer) => {
        if (answer.status < 200 || answer.status > 299) {
          throw faultOfAnswer({ op: "GetObject", subject: piece.key, answer });
        }
      });
    }
    if (received < piece.length) throw new Fault("TRUNCATED", { op: "GetObject", subject: piece.key });
    const hex = sum.toString(16).padStart(8, "0");
    if (piece.crc32 !== null && piece.crc32 !== hex) {
      startAgain();
      throw new Fault("CHECKSUM_MISMATCH", {
        op: "GetObject",
        subject: piece.key,
        detail: `at byte ${piece.objectOffset}`,
      });
    }
    return hex;
  };
  const hex = await withRetry(engine.retrier, { signal, patience, onRetry }, async () => {
    try {
      return await fetchRest();
    } catch (error) {
      job.onPiece(piece, "waiting");
      if (isFault(error) && error.code === "UNEXPECTED_ANSWER") startAgain();
      throw error;
    }
  });
  await job.onDone(piece, hex);
}

/** Written at once: the page cache takes it, and the buffer can go back to the network without a copy. */
function writeAll(job: ReceiveJob, chunk: Buffer, position: number): void {
  try {
    for (let written = 0; written < chunk.length;) {
      written += writeSync(job.fd, chunk, written, chunk.length - written, position + written);
    }
  } catch (error) {
    throw diskFault(error, { op: "write", subject: job.path, otherwise: "WRITE_FAILED" });
  }
}

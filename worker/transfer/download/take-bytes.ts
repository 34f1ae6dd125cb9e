import { writeSync } from "node:fs";
import { diskFault } from "#worker/base/disk-fault.ts";
import type { PieceSpan, ReceiveJob } from "./receive-job.ts";
import { sumBytes } from "#worker/base/sum-bytes.ts";

/** Writes, sums and counts the next bytes of a span. Faults: NO_SPACE, WRITE_FAILED. */
export function takeBytes(job: ReceiveJob, span: PieceSpan, own: Buffer): void {
  writeAll(job, own, span.of.piece.fileOffset + span.from + span.received);
  span.crc = sumBytes(own, span.crc);
  span.received += own.length;
  job.onMoved(own.length);
}

/** Discards the received bytes of a span, which may be wrong. */
export function forgetBytes(job: ReceiveJob, span: PieceSpan): void {
  job.onMoved(-span.received);
  span.received = 0;
  span.crc = 0;
}

/** Writes synchronously: the page cache takes the bytes, and the network buffer can be reused without a copy. */
function writeAll({ fd, path }: ReceiveJob, chunk: Buffer, position: number): void {
  if (fd === null) return;
  if (typeof fd !== "number") {
    chunk.copy(fd, position);
    return;
  }
  try {
    for (let written = 0; written < chunk.length;) {
      written += writeSync(fd, chunk, written, chunk.length - written, position + written);
    }
  } catch (error) {
    throw diskFault(error, { op: "write", subject: path, otherwise: "WRITE_FAILED" });
  }
}

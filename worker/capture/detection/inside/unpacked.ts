import { constants, createGunzip, createInflate } from "node:zlib";

/** Limit for a compressed file: a kilobyte may stand for a megabyte. */
const PACKED_BYTES = 4 * 1024;
const MOST_UNPACKED_BYTES = 256 * 1024;

/** Returns the beginning of a file, decompressed up to a bound. @throws when its content does not match its first bytes */
export async function unpacked(start: Buffer): Promise<Buffer> {
  const isZlib = start[0] === 0x78;
  if (!isZlib && !(start[0] === 0x1f && start[1] === 0x8b)) return start;
  // Only the beginning is available, so the missing end of the stream is no error.
  const how = { finishFlush: constants.Z_SYNC_FLUSH };
  const stream = isZlib ? createInflate(how) : createGunzip(how);
  stream.end(start.subarray(0, PACKED_BYTES));
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    // Leaving the loop ends the stream: no more is unpacked.
    if (bytes >= MOST_UNPACKED_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MOST_UNPACKED_BYTES);
}

import type { FileHandle } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { Fault } from "#protocol/fault.ts";
import { diskFault } from "./disk-fault.ts";

/**
 * A part is read from the open file with positioned reads into a small ring of buffers, so a part can be sent again at
 * any time and the memory of a connection is `RING x CHUNK_BYTES` whatever the part size is.
 */

const CHUNK_BYTES = 128 * 1024;
/** The HTTP client holds at most two chunks; two more keep the disk one step ahead. */
const RING = 4;

export interface PartSlice {
  handle: FileHandle;
  /** For faults. */
  path: string;
  offset: number;
  length: number;
}

const spare: Buffer[][] = [];
const takeRing = (): Buffer[] => spare.pop() ?? Array.from({ length: RING }, () => Buffer.allocUnsafeSlow(CHUNK_BYTES));

export interface PartReader {
  chunks: AsyncGenerator<Buffer>;
  /** Gives the buffers back. Only after the store answered: until then the socket may still hold some. */
  release(): void;
}

/**
 * Yields exactly `length` bytes. Each chunk is valid until the fourth after it is asked for.
 * `crc32Hex` is what the bytes must add up to. Faults: READ_FAILED, SOURCE_CHANGED (the file is shorter, or its bytes differ).
 */
export function readPart(slice: PartSlice, crc32Hex: string): PartReader {
  const ring = takeRing();
  const chunks = async function* () {
    let sum = 0;
    let done = 0;
    for (let turn = 0; done < slice.length; turn++) {
      const buffer = ring[turn % RING];
      if (buffer === undefined) return;
      const chunk = buffer.subarray(0, Math.min(CHUNK_BYTES, slice.length - done));
      await readFully(slice, chunk, slice.offset + done);
      done += chunk.length;
      sum = crc32(chunk, sum);
      // The last chunk is held back when the sum is wrong, so the store never gets a complete wrong part.
      if (done === slice.length && sum !== Number.parseInt(crc32Hex, 16)) {
        throw new Fault("SOURCE_CHANGED", { op: "read", subject: slice.path, detail: "its bytes changed" });
      }
      yield chunk;
    }
  };
  return { chunks: chunks(), release: () => void spare.push(ring) };
}

/** CRC32 of a slice as eight hex digits. Faults: READ_FAILED, SOURCE_CHANGED. */
export async function checksumSlice(slice: PartSlice): Promise<string> {
  const ring = takeRing();
  const buffer = ring[0] ?? Buffer.allocUnsafeSlow(CHUNK_BYTES);
  let sum = 0;
  try {
    for (let done = 0; done < slice.length;) {
      const chunk = buffer.subarray(0, Math.min(CHUNK_BYTES, slice.length - done));
      await readFully(slice, chunk, slice.offset + done);
      sum = crc32(chunk, sum);
      done += chunk.length;
    }
  } finally {
    spare.push(ring);
  }
  return sum.toString(16).padStart(8, "0");
}

async function readFully(slice: PartSlice, into: Buffer, position: number): Promise<void> {
  try {
    for (let filled = 0; filled < into.length;) {
      const { bytesRead } = await slice.handle.read(into, filled, into.length - filled, position + filled);
      if (bytesRead === 0)
        throw new Fault("SOURCE_CHANGED", { op: "read", subject: slice.path, detail: "it became shorter" });
      filled += bytesRead;
    }
  } catch (error) {
    throw diskFault(error, { op: "read", subject: slice.path, otherwise: "READ_FAILED" });
  }
}

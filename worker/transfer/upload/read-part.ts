import { createHash } from "node:crypto";
import { constants, read as readLater, readSync } from "node:fs";
import { Fault } from "#protocol/faults/fault.ts";
import type { StoreChecksum } from "#protocol/wire/store-checksum.ts";
import { atOnce, closeFile, openFile } from "#worker/base/adaptive-sync-io.ts";
import { diskFault } from "#worker/base/disk-fault.ts";
import { sumBytes } from "#worker/base/sum-bytes.ts";
import { sumToHex } from "#storage/checksums/combine-crc32.ts";

/**
 * A part of a file, read at its offset as often as needed and never kept in memory. So a part can be sent again at any time,
 * and memory is one buffer per connection whatever the part size.
 */
export interface PartSlice {
  fd: number;
  /** Named in faults. */
  path: string;
  offset: number;
  length: number;
}

/**
 * Fills `into` from the file at `position`, synchronously where that is fast (see `atOnce`). Faults: READ_FAILED,
 * SOURCE_CHANGED (the file is shorter).
 */
export const readFully = (
  slice: Pick<PartSlice, "fd" | "path">,
  into: Buffer,
  position: number,
): void | Promise<void> =>
  atOnce<void>(
    () => readFullyNow(slice, into, position),
    () => readFullyLater(slice, into, position),
  );

function readFullyNow(slice: Pick<PartSlice, "fd" | "path">, into: Buffer, position: number): void {
  try {
    for (let filled = 0; filled < into.length;) {
      const bytesRead = readSync(slice.fd, into, filled, into.length - filled, position + filled);
      if (bytesRead === 0) throw shorter(slice);
      filled += bytesRead;
    }
  } catch (error) {
    throw diskFault(error, { op: "read", subject: slice.path, otherwise: "READ_FAILED" });
  }
}

async function readFullyLater(slice: Pick<PartSlice, "fd" | "path">, into: Buffer, position: number): Promise<void> {
  for (let filled = 0; filled < into.length;) {
    const at = position + filled;
    const bytesRead = await new Promise<number>((resolve, reject) => {
      readLater(slice.fd, into, filled, into.length - filled, at, (error, count) => {
        if (error === null) resolve(count);
        else reject(diskFault(error, { op: "read", subject: slice.path, otherwise: "READ_FAILED" }));
      });
    });
    if (bytesRead === 0) throw shorter(slice);
    filled += bytesRead;
  }
}

const shorter = ({ path }: Pick<PartSlice, "path">) =>
  new Fault("SOURCE_CHANGED", { op: "read", subject: path, detail: "it became shorter" });

/** Reads a part in order for sending; may start over at 0. */
export interface PartReader {
  /**
   * Same as `UploadBody.read`. Faults: READ_FAILED, SOURCE_CHANGED (the file is shorter, or its bytes differ from
   * `crc32Hex`).
   */
  read(into: Buffer, at: number): number | Promise<number>;
}

/**
 * Creates a reader of a part. `crc32Hex`: CRC32 that the bytes must have; null where the store gets the checksum and compares
 * it, so that the bytes need not be summed twice.
 */
export const createPartReader = (slice: PartSlice, crc32Hex: string | null): PartReader =>
  summedReader({ path: slice.path, length: slice.length, crc32Hex }, (into, at) =>
    readFully(slice, into, slice.offset + at),
  );

/**
 * Creates a reader of bytes from anywhere. `fill`: fills all of `into` with the bytes at `at` of the part, perhaps
 * synchronously (see `atOnce`).
 */
export function summedReader(
  { path, length, crc32Hex }: { path: string; length: number; crc32Hex: string | null },
  fill: (into: Buffer, at: number) => void | Promise<void>,
): PartReader {
  let sum = 0;
  const took = (into: Buffer, at: number): number => {
    if (crc32Hex === null) return into.length;
    sum = sumBytes(into, at === 0 ? 0 : sum);
    // Throws before the last bytes are sent, so the store never gets a complete wrong part.
    if (at + into.length === length && sum !== Number.parseInt(crc32Hex, 16)) {
      throw new Fault("SOURCE_CHANGED", { op: "read", subject: path, detail: "its bytes changed" });
    }
    return into.length;
  };
  return {
    read: (whole, at) => {
      const into = whole.subarray(0, Math.min(whole.length, length - at));
      const filling = fill(into, at);
      return filling === undefined ? took(into, at) : filling.then(() => took(into, at));
    },
  };
}

const SUM_BYTES = 128 * 1024;
/**
 * Bytes to sum before other work gets its turn: they take a quarter of a millisecond, and an answer may wait for several such
 * turns.
 */
const SUM_AT_A_TIME_BYTES = 512 * 1024;
const spare: Buffer[] = [];

/** Checksums of a part, hex. The MD5 only where a store wants it: it costs ten times as much. */
export interface PartSums {
  crc32: string;
  md5?: string;
}

/** Returns the CRC32 of a slice as eight hex digits. Faults: READ_FAILED, SOURCE_CHANGED. */
export const checksumSlice = async (slice: PartSlice): Promise<string> => (await sumSlice(slice, "crc32")).crc32;

/** Returns all checksums that a slice needs to be sent with `checksum`, in one pass. Faults: READ_FAILED, SOURCE_CHANGED. */
export async function sumSlice(slice: PartSlice, checksum: StoreChecksum): Promise<PartSums> {
  const buffer = spare.pop() ?? Buffer.allocUnsafeSlow(SUM_BYTES);
  const md5 = checksum === "md5" ? createHash("md5") : null;
  let sum = 0;
  try {
    for (let done = 0; done < slice.length;) {
      const chunk = buffer.subarray(0, Math.min(SUM_BYTES, slice.length - done));
      const reading = readFully(slice, chunk, slice.offset + done);
      if (reading !== undefined) await reading;
      sum = sumBytes(chunk, sum);
      md5?.update(chunk);
      done += chunk.length;
      if (done % SUM_AT_A_TIME_BYTES === 0) await new Promise<void>((resolve) => setImmediate(resolve));
    }
  } finally {
    spare.push(buffer);
  }
  return { crc32: sumToHex(sum), ...(md5 === null ? {} : { md5: md5.digest("hex") }) };
}

/** Returns whether `sums` has all checksums that bytes need to be sent with `checksum`. */
export const isSummedFor = (sums: PartSums, checksum: StoreChecksum): boolean =>
  checksum !== "md5" || sums.md5 !== undefined;

/**
 * Returns whether the parts of a file have these CRC32s; `index` counts parts from 0. Faults: READ_FAILED, SOURCE_CHANGED;
 * the error of opening it.
 */
export async function hasSums(
  { path, sizeBytes, partBytes }: { path: string; sizeBytes: number; partBytes: number },
  sums: Iterable<readonly [index: number, crc32: string]>,
): Promise<boolean> {
  const fd = await openFile(path, constants.O_RDONLY);
  try {
    for (const [index, crc32] of sums) {
      const offset = index * partBytes;
      const length = Math.min(partBytes, sizeBytes - offset);
      if ((await checksumSlice({ fd, path, offset, length })) !== crc32) return false;
    }
    return true;
  } finally {
    await closeFile(fd);
  }
}

import { Fault } from "#protocol/faults/fault.ts";
import { INSPECT_LIMITS } from "#protocol/checkpoint/inspect-limits.ts";
import { whyPathRefused } from "#protocol/base/names.ts";

/**
 * Access of readers to a file. Every read is checked before it is fetched: it must lie within the file and within the
 * limits for one file. Fetched bytes are cached.
 */
export interface ByteSource {
  readonly sizeBytes: number;
  /** Returns exactly these bytes. `length` is at least 1. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

export interface BoundedSource extends ByteSource {
  /** Bytes fetched so far. */
  readonly readBytes: number;
  readonly reads: number;
  /** Bytes that may still be fetched. */
  readonly leftBytes: number;
  /** Bytes that may still be produced by decompression. */
  readonly leftExpandedBytes: number;
  /**
   * Counts bytes derived from fewer stored bytes: decompressed, joined or repeated.
   * @throws Fault TOO_MUCH_INSIDE past the limit that a file and its neighbors share
   */
  expand(bytes: number): void;
}

/**
 * Opens another file of the same checkpoint by its path relative to the inspected file's folder; null when there is none.
 * Paths come from file contents, so `readBeside` rejects those that leave the folder.
 */
export type OpenBeside = (relative: string) => Promise<ByteSource | null>;

/** For files that are inspected alone. */
export const NOTHING_BESIDE: OpenBeside = () => Promise.resolve(null);

/** Bytes and reads of a file and its neighbors, which share one limit. */
export interface Spent {
  readBytes: number;
  reads: number;
  /** Left out: 0. */
  expandedBytes?: number;
}

export const nothingSpent = (): Spent => ({ readBytes: 0, reads: 0, expandedBytes: 0 });

/** Returns the Fault of a damaged file, of which nothing more can be read. */
export const malformed = (detail: string): Fault => new Fault("MALFORMED", { op: "inspect", detail });
/** Returns the Fault of a file that may be valid but exceeds the limits. */
export const tooMuch = (detail: string): Fault => new Fault("TOO_MUCH_INSIDE", { op: "inspect", detail });

/** Returns the number. @throws Fault MALFORMED unless it is a non-negative safe integer */
export function wholeNumber(value: number | bigint, what: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 0) throw malformed(`${what} is no size that a file can have`);
  return number;
}

/** Returns a limited source. `read` rejects with MALFORMED past the file's end, TOO_MUCH_INSIDE past the limits, or TRUNCATED. */
export function boundSource(source: ByteSource, spent: Spent = nothingSpent()): BoundedSource {
  const chunks: { offset: number; bytes: Uint8Array }[] = [];
  const sizeBytes = wholeNumber(source.sizeBytes, "the size of the file");
  return {
    sizeBytes,
    get readBytes() {
      return spent.readBytes;
    },
    get reads() {
      return spent.reads;
    },
    get leftBytes() {
      return INSPECT_LIMITS.readBytes - spent.readBytes;
    },
    get leftExpandedBytes() {
      return INSPECT_LIMITS.expandedBytes - (spent.expandedBytes ?? 0);
    },
    expand: (bytes) => {
      spent.expandedBytes = (spent.expandedBytes ?? 0) + bytes;
      if (spent.expandedBytes > INSPECT_LIMITS.expandedBytes) {
        throw tooMuch(`what describes it has more than ${INSPECT_LIMITS.expandedBytes} bytes once it is unpacked`);
      }
    },
    read: async (offset, length) => {
      wholeNumber(offset, "an offset");
      if (wholeNumber(length, "a length") === 0) return new Uint8Array(0);
      if (offset > sizeBytes || length > sizeBytes - offset) {
        throw malformed(`${length} bytes at ${offset} lie past its end, which is at ${sizeBytes}`);
      }
      const known = chunks.find(
        (chunk) => offset >= chunk.offset && offset + length <= chunk.offset + chunk.bytes.length,
      );
      if (known !== undefined) return known.bytes.subarray(offset - known.offset, offset - known.offset + length);
      if (length > INSPECT_LIMITS.readBytes - spent.readBytes) {
        throw tooMuch(
          `${length} bytes at ${offset} are more than is read of one file (${INSPECT_LIMITS.readBytes} bytes)`,
        );
      }
      if (spent.reads >= INSPECT_LIMITS.reads) throw tooMuch(`it lies in more than ${INSPECT_LIMITS.reads} pieces`);
      spent.reads++;
      spent.readBytes += length;
      const bytes = await source.read(offset, length);
      if (bytes.length !== length)
        throw new Fault("TRUNCATED", { op: "inspect", detail: `${bytes.length} of ${length} bytes came` });
      chunks.push({ offset, bytes });
      return bytes;
    },
  };
}

/** Opens files beside another one, within their shared limits. */
export type BoundedBeside = (relative: string) => Promise<BoundedSource | null>;

/** Returns an opener that treats paths outside the folder, on any operating system, as missing files. */
export function readBeside(beside: OpenBeside, spent: Spent): BoundedBeside {
  return async (relative) => {
    if (whyPathRefused(relative) !== null) return null;
    const source = await beside(relative);
    return source === null ? null : boundSource(source, spent);
  };
}

/** Returns a source of bytes in memory. */
export const sourceOfBytes = (bytes: Uint8Array): ByteSource => ({
  sizeBytes: bytes.length,
  read: (offset, length) => Promise.resolve(bytes.subarray(offset, offset + length)),
});

/** Bytes fetched first from every file to detect its format; often no more are needed. */
export const FIRST_READ_BYTES = 64 * 1024;
const MOST_WINDOW_BYTES = 1024 * 1024;

/** Sequential reader that prefetches in growing windows. */
export interface Cursor {
  /** Offset in the file. */
  readonly at: number;
  take(length: number): Promise<Uint8Array>;
  skip(length: number): void;
}

/** Returns a cursor. Its `take` rejects as a bounded source does. */
export function createCursor(source: ByteSource, start: number): Cursor {
  let at = start;
  let window: { offset: number; bytes: Uint8Array } = { offset: start, bytes: new Uint8Array(0) };
  let windowBytes = FIRST_READ_BYTES;
  return {
    get at() {
      return at;
    },
    take: async (length) => {
      const end = window.offset + window.bytes.length;
      if (at < window.offset || length > end - at) {
        // The requested bytes must exist; prefetching stops at the end of the file.
        const wanted = at < FIRST_READ_BYTES ? FIRST_READ_BYTES - at : windowBytes;
        const ahead = Math.max(length, Math.min(wanted, source.sizeBytes - at));
        window = { offset: at, bytes: await source.read(at, ahead) };
        windowBytes = Math.min(MOST_WINDOW_BYTES, windowBytes * 2);
      }
      const bytes = window.bytes.subarray(at - window.offset, at - window.offset + length);
      at += length;
      return bytes;
    },
    skip: (length) => {
      if (wholeNumber(length, "a length") > source.sizeBytes - at)
        throw malformed(`${length} bytes at ${at} lie past its end`);
      at += length;
    },
  };
}

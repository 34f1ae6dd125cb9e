import { Fault } from "#protocol/faults/fault.ts";
import { INSPECT_LIMITS } from "#protocol/checkpoint/inspect-limits.ts";
import { whyPathRefused } from "#protocol/base/names.ts";

/**
 * The only way in which a reader sees a file. What is asked for is checked before it is fetched: it lies within the file
 * and within what one file may cost. What was fetched once is not fetched again.
 */
export interface ByteSource {
  readonly sizeBytes: number;
  /** Exactly these bytes. `length` is at least 1. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

export interface BoundedSource extends ByteSource {
  /** What was fetched until now. */
  readonly readBytes: number;
  readonly reads: number;
  /** May still be fetched. */
  readonly leftBytes: number;
  /** May still be unpacked. */
  readonly leftExpandedBytes: number;
  /**
   * Counts bytes that are made of fewer: unpacked, joined, repeated.
   * @throws Fault TOO_MUCH_INSIDE past the limit that a file and those beside it share
   */
  expand(bytes: number): void;
}

/**
 * Another file of the same checkpoint, by its path from the folder of the one that is looked at; null when there is none.
 * Paths come out of files: `readBeside` passes only those on that lead nowhere else.
 */
export type OpenBeside = (relative: string) => Promise<ByteSource | null>;

/** For files that are looked at by themselves. */
export const NOTHING_BESIDE: OpenBeside = () => Promise.resolve(null);

/** What was fetched of a file and of those beside it, which share one limit. */
export interface Spent {
  readBytes: number;
  reads: number;
  /** Left out: nothing yet. */
  expandedBytes?: number;
}

export const nothingSpent = (): Spent => ({ readBytes: 0, reads: 0, expandedBytes: 0 });

/** Something about the file itself is wrong, so that nothing more is to be had of it. */
export const malformed = (detail: string): Fault => new Fault("MALFORMED", { op: "inspect", detail });
/** It may be right, but it is more than is looked at. */
export const tooMuch = (detail: string): Fault => new Fault("TOO_MUCH_INSIDE", { op: "inspect", detail });

/** @throws Fault MALFORMED unless it is a whole number from 0 up that JavaScript counts exactly. */
export function wholeNumber(value: number | bigint, what: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 0) throw malformed(`${what} is no size that a file can have`);
  return number;
}

/** Faults of `read`: MALFORMED past the end of the file, TOO_MUCH_INSIDE past the limits, TRUNCATED, those of `source`. */
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

/** Files beside another one, within the limits that all of them share. */
export type BoundedBeside = (relative: string) => Promise<BoundedSource | null>;

/** A path that leaves the folder, or could on some disk, is no file of it. */
export function readBeside(beside: OpenBeside, spent: Spent): BoundedBeside {
  return async (relative) => {
    if (whyPathRefused(relative) !== null) return null;
    const source = await beside(relative);
    return source === null ? null : boundSource(source, spent);
  };
}

/** Bytes in memory as a source. */
export const sourceOfBytes = (bytes: Uint8Array): ByteSource => ({
  sizeBytes: bytes.length,
  read: (offset, length) => Promise.resolve(bytes.subarray(offset, offset + length)),
});

/** What is fetched of every file to see what it is; it often is all that is needed. */
export const FIRST_READ_BYTES = 64 * 1024;
const MOST_WINDOW_BYTES = 1024 * 1024;

/** Numbers and strings one after another, fetched ahead in windows that grow. */
export interface Cursor {
  /** Of the file. */
  readonly at: number;
  take(length: number): Promise<Uint8Array>;
  skip(length: number): void;
}

/** Faults of `take`: those of a bounded source. */
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
        // What is asked for has to be there; what is fetched ahead only as far as there is something.
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

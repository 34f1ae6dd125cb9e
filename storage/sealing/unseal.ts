import type { StoredExtent } from "#protocol/adopted.ts";
import { Fault, isFault } from "#protocol/fault.ts";
import { plainBytesOf, SEGMENT_BYTES, SEGMENT_PLAIN_BYTES } from "#protocol/sealing.ts";
import { crc32Hex } from "../crc32.ts";
import { unframe } from "../unframe.ts";
import { openSegments } from "./segments.ts";

/** Puts the place into what segments say when they do not open. */
export function placed<T>(extent: Pick<StoredExtent, "key" | "offset">, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (!isFault(error) || error.code !== "SEAL_BROKEN") throw error;
    const { detail = "" } = error.context;
    const at = `at byte ${extent.offset} of the object`;
    throw new Fault("SEAL_BROKEN", { op: "GetObject", subject: extent.key, detail: `${detail}, ${at}`, cause: error });
  }
}

/**
 * The bytes of a file that lies in one sealed piece, unpacked where it was compressed, and held to the checksum of its own bytes.
 * Faults: SEAL_BROKEN, CHECKSUM_MISMATCH.
 */
export async function unseal(stored: Uint8Array, extent: StoredExtent, fileKey: Uint8Array): Promise<Uint8Array> {
  const inner = placed(extent, () =>
    openSegments(fileKey, { plainBytes: plainBytesOf(stored.length), first: 0 }, stored),
  );
  if (inner.length < extent.length) {
    return unframe(inner, { ...extent, stored: { length: inner.length, crc32: crc32Hex(inner) } });
  }
  const { stored: _, ...plain } = extent;
  return unframe(inner, plain);
}

/** The stored bytes to read for `length` bytes of a piece from `from` on: whole segments, and how much of them comes before. */
export function segmentsAround(from: number, length: number): { offset: number; length: number; before: number } {
  const first = Math.floor(from / SEGMENT_PLAIN_BYTES);
  const last = Math.floor((from + length - 1) / SEGMENT_PLAIN_BYTES);
  return {
    offset: first * SEGMENT_BYTES,
    length: (last - first + 1) * SEGMENT_BYTES,
    before: from - first * SEGMENT_PLAIN_BYTES,
  };
}

import type { StoredExtent, StoredFile } from "#protocol/checkpoint/adopted.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { storedBytes } from "#protocol/checkpoint/packing.ts";
import { plainBytesOf, SEGMENT_BYTES, SEGMENT_PLAIN_BYTES } from "#protocol/checkpoint/sealing.ts";
import { crc32Hex } from "../checksums/crc32.ts";
import { unframe } from "./unframe.ts";
import { openSegments } from "./segments.ts";

/** Runs `open` and adds the object's key and offset to a SEAL_BROKEN Fault of its segments. */
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
 * Opens, and decompresses if needed, the bytes of a file in a single sealed extent, and checks them against its checksum.
 * Rejects with Fault SEAL_BROKEN or CHECKSUM_MISMATCH.
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

/** Returns whether an extent was compressed before it was sealed. Such an extent can only be read as a whole. */
export const isSealedFrame = ({ stored, length }: StoredExtent): boolean =>
  stored !== undefined && plainBytesOf(stored.length) < length;

/**
 * Reads plain bytes from offset `from` of a sealed extent, through whole segments that only their tags verify. `get`
 * reads stored bytes, counted from the start of the object. Not for compressed extents. Rejects with SEAL_BROKEN and
 * Faults of `get`.
 */
export async function readSealed(
  { file, extent, fileKey }: { file: StoredFile; extent: StoredExtent; fileKey: Uint8Array },
  { from, length }: { from: number; length: number },
  get: (range: { offset: number; length: number }) => Promise<Uint8Array>,
): Promise<Uint8Array> {
  const around = segmentsAround(from, length);
  const most = storedBytes(extent).length - around.offset;
  const sealed = await get({ offset: extent.offset + around.offset, length: Math.min(around.length, most) });
  const first = (storedBefore(file, extent) + around.offset) / SEGMENT_BYTES;
  const opened = placed(extent, () => openSegments(fileKey, { plainBytes: file.sizeBytes, first }, sealed));
  return opened.subarray(around.before, around.before + length);
}

/** Returns the number of stored bytes in the file's extents before this one. */
function storedBefore(file: StoredFile, extent: StoredExtent): number {
  const before = file.extents.slice(0, file.extents.indexOf(extent));
  return before.reduce((sum, one) => sum + storedBytes(one).length, 0);
}

/** Returns the stored range of the segments that hold `length` plain bytes at `from`; `before`: plain bytes to skip in it. */
export function segmentsAround(from: number, length: number): { offset: number; length: number; before: number } {
  const first = Math.floor(from / SEGMENT_PLAIN_BYTES);
  const last = Math.floor((from + length - 1) / SEGMENT_PLAIN_BYTES);
  return {
    offset: first * SEGMENT_BYTES,
    length: (last - first + 1) * SEGMENT_BYTES,
    before: from - first * SEGMENT_PLAIN_BYTES,
  };
}

import { Fault } from "#protocol/faults/fault.ts";
import { sumBytes } from "#storage/checksums/combine-crc32.ts";

/** Bytes read and summed at a time: a few milliseconds of CPU. */
const SLICE_BYTES = 2 * 1024 * 1024;

/** Reads a slice of a file. @throws Fault SOURCE_CHANGED when the file has changed since it was chosen */
export async function readBlob(blob: Blob): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await blob.arrayBuffer());
  } catch (cause) {
    throw new Fault("SOURCE_CHANGED", { op: "read the file", cause });
  }
}

/** Returns the CRC32 of a slice of a file, hex. @throws Fault SOURCE_CHANGED, CANCELLED */
export async function sumBlob(blob: Blob, signal: AbortSignal): Promise<string> {
  let sum = "00000000";
  for (let at = 0; at < blob.size; at += SLICE_BYTES) {
    if (signal.aborted) throw new Fault("CANCELLED");
    const bytes = await readBlob(blob.slice(at, at + SLICE_BYTES));
    sum = sumBytes(bytes, sum);
  }
  return sum;
}

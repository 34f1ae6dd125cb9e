import { promisify } from "node:util";
import { zstdDecompress } from "node:zlib";
import type { StoredExtent } from "#protocol/checkpoint/adopted.ts";
import { storedBytes } from "#protocol/checkpoint/packing.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { crc32Hex } from "../checksums/crc32.ts";

const decompress = promisify(zstdDecompress);

/**
 * Returns the plain bytes of an extent from its stored bytes, and checks them against the recorded checksums. Stops a
 * zstd frame that would decompress to more than the manifest says. Bytes without a frame are returned unchanged. Rejects
 * with Fault CHECKSUM_MISMATCH.
 */
export async function unframe(stored: Uint8Array, extent: StoredExtent): Promise<Uint8Array> {
  const { key, offset, length, crc32 } = extent;
  const wrong = (detail: string) => new Fault("CHECKSUM_MISMATCH", { op: "GetObject", subject: key, detail });
  const expected = storedBytes(extent).crc32;
  if (expected !== null && crc32Hex(stored) !== expected) throw wrong(`at byte ${offset}`);
  if (extent.stored === undefined) return stored;
  const bytes = await decompress(stored, { maxOutputLength: length }).catch((error: unknown) => {
    throw new Fault("CHECKSUM_MISMATCH", {
      op: "GetObject",
      subject: key,
      detail: `what lies at byte ${offset} cannot be unpacked`,
      cause: error,
    });
  });
  if (bytes.length !== length || crc32Hex(bytes) !== crc32)
    throw wrong(`what lies at byte ${offset} unpacks to others`);
  return bytes;
}

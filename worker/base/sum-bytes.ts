import { crc32 } from "node:zlib";
import { loadNative, NODE_RS_CRC32 } from "./load-native.ts";

type Sum = (bytes: Uint8Array, previous: number) => number;

/** Of less nobody would notice, and many commands never see more. */
const LEAST_BYTES = 64 * 1024;

let fastest: Sum | null = null;

/**
 * CRC32 (ISO-HDLC) of bytes that follow those whose sum is `previous`, as zlib's. By code that uses what processors have had for
 * a decade, where the worker has it: in half the time that zlib takes.
 */
export function sumBytes(bytes: Uint8Array, previous = 0): number {
  if (bytes.length < LEAST_BYTES) return crc32(bytes, previous);
  fastest ??= nativeSum() ?? crc32;
  return fastest(bytes, previous);
}

/** Null where there is none. */
export function nativeSum(): Sum | null {
  const found = loadNative(NODE_RS_CRC32);
  if (typeof found !== "object" || found === null || !("crc32" in found)) return null;
  const { crc32: sum } = found;
  return typeof sum === "function" ? (sum as Sum) : null;
}

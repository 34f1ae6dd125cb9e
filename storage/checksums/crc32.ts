import { crc32 } from "node:zlib";
import { sumToHex } from "./combine-crc32.ts";

/**
 * CRC32 (ISO-HDLC, as zlib) of parts and whole files, with Node's native code. Parts are computed while their bytes are
 * in memory, in any order; `combine-crc32.ts` then derives the CRC32 of the file.
 */

/** Returns the CRC32 of bytes or of UTF-8 text as eight lower-case hex digits; `previous` is that of the bytes before. */
export const crc32Hex = (bytes: Uint8Array | string, previous = "00000000"): string =>
  sumToHex(crc32(bytes, Number.parseInt(previous, 16)));

/** Returns the form used in S3 headers and XML: base64 of the four bytes, most significant first. */
export const crc32ToBase64 = (hex: string): string => Buffer.from(hex, "hex").toString("base64");

/** Returns the CRC32 (hex) of an S3 header or XML element; null unless it covers a whole object (composite sums end in `-N`). */
export function crc32FromBase64(text: string): string | null {
  if (!/^[A-Za-z0-9+/]{6}==$/.test(text)) return null;
  return Buffer.from(text, "base64").toString("hex");
}

/** The CRC32 that a store reports for an object, hex. With `partCount` it is the CRC32 of the parts' CRC32s. */
export interface ObjectSum {
  crc32: string;
  partCount: number | null;
}

/** Reads a CRC32 of a whole object, or a composite one (with `-N` at its end); null when the text is neither. */
export function readObjectSum(text: string): ObjectSum | null {
  const [sum = "", count] = text.trim().split("-", 2);
  const crc32 = crc32FromBase64(sum);
  if (crc32 === null || (count !== undefined && !/^[1-9]\d{0,4}$/.test(count))) return null;
  return { crc32, partCount: count === undefined ? null : Number(count) };
}

/** Returns the composite CRC32 of an object from the CRC32s of its parts, hex. */
export const compositeCrc32 = (sums: readonly string[]): string => crc32Hex(Buffer.from(sums.join(""), "hex"));

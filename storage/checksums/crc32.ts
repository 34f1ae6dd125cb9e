import { crc32 } from "node:zlib";
import { sumToHex } from "./combine-crc32.ts";

/**
 * CRC32 (ISO-HDLC, as zlib) of parts and of whole files, by the machine's own code. Parts are summed where their bytes are
 * in hand, in any order; the sum of the file is then put together from theirs (`combine-crc32.ts`).
 */

/** CRC32 of `bytes` (of a text those of UTF-8) as eight lower-case hex digits; `previous` goes on from the sum of the bytes before them. */
export const crc32Hex = (bytes: Uint8Array | string, previous = "00000000"): string =>
  sumToHex(crc32(bytes, Number.parseInt(previous, 16)));

/** The sum as S3 headers and XML carry it: base64 of the four bytes, most significant first. */
export const crc32ToBase64 = (hex: string): string => Buffer.from(hex, "hex").toString("base64");

/** The sum from an S3 header or XML element; null when it is not the sum of a whole object (composite sums end in `-N`). */
export function crc32FromBase64(text: string): string | null {
  if (!/^[A-Za-z0-9+/]{6}==$/.test(text)) return null;
  return Buffer.from(text, "base64").toString("hex");
}

/** What a store keeps of an object: the sum of its bytes, or (with `partCount`) the sum of the sums of its parts. Hex. */
export interface ObjectSum {
  crc32: string;
  partCount: number | null;
}

/** As `crc32FromBase64`, and composite sums too (`-N` behind them); null when it is neither. */
export function readObjectSum(text: string): ObjectSum | null {
  const [sum = "", count] = text.trim().split("-", 2);
  const crc32 = crc32FromBase64(sum);
  if (crc32 === null || (count !== undefined && !/^[1-9]\d{0,4}$/.test(count))) return null;
  return { crc32, partCount: count === undefined ? null : Number(count) };
}

/** The composite sum of an object from the sums of its parts, hex. */
export const compositeCrc32 = (sums: readonly string[]): string => crc32Hex(Buffer.from(sums.join(""), "hex"));

import { malformed } from "./parse-answer.ts";

/**
 * Removes the chunked transfer coding (RFC 9112, 7.1) in place: the payload of one read is moved to the front of the same
 * memory, so that it can be passed on in one piece.
 */
export interface Dechunker {
  /**
   * Decodes the bytes of one read. `kept`: payload bytes, now at the front of `bytes`. `used`: how many of `bytes` belonged
   * to the body.
   */
  decode(bytes: Buffer): { kept: number; used: number; ended: boolean };
}

type Place = "size" | "extension" | "size-end" | "data" | "data-cr" | "data-lf" | "trailer" | "trailer-lf";

const CR = 13;
const LF = 10;
/** Limit for the extension of one chunk, and for all trailers together. */
const MOST_CONTROL_BYTES = 16 * 1024;
const MOST_DIGITS = 12;

export function createDechunker(): Dechunker {
  let place: Place = "size";
  let size = 0;
  let digits = 0;
  let left = 0;
  let control = 0;
  let lineBytes = 0;

  const control1 = (byte: number): Place | "end" => {
    switch (place) {
      case "size": {
        const digit = hexOf(byte);
        if (digit >= 0) {
          size = size * 16 + digit;
          if (++digits > MOST_DIGITS) throw malformed("a chunk has no readable size");
          return "size";
        }
        if (digits === 0) throw malformed("a chunk has no readable size");
        if (byte === CR) return "size-end";
        // A semicolon, or the blank that some servers put after the size.
        if (byte === 0x3b || byte === 0x20 || byte === 0x09) return "extension";
        throw malformed("a chunk has no readable size");
      }
      case "extension":
        if (byte === LF) throw malformed("a chunk has no readable size");
        return byte === CR ? "size-end" : "extension";
      case "size-end":
        if (byte !== LF) throw malformed("a chunk has no readable size");
        left = size;
        lineBytes = 0;
        control = 0;
        return size === 0 ? "trailer" : "data";
      case "data-cr":
        if (byte !== CR) throw malformed("a chunk is longer than it said");
        return "data-lf";
      case "data-lf":
        if (byte !== LF) throw malformed("a chunk is longer than it said");
        size = 0;
        digits = 0;
        control = 0;
        return "size";
      case "trailer":
        if (byte === LF) throw malformed("a trailer is malformed");
        if (byte === CR) return "trailer-lf";
        lineBytes++;
        return "trailer";
      case "trailer-lf":
        if (byte !== LF) throw malformed("a trailer is malformed");
        if (lineBytes === 0) return "end";
        lineBytes = 0;
        return "trailer";
      case "data":
        throw malformed("a chunk is longer than it said");
    }
  };
  return {
    decode: (bytes) => {
      let kept = 0;
      let at = 0;
      while (at < bytes.length) {
        if (place === "data") {
          const take = Math.min(left, bytes.length - at);
          if (kept !== at) bytes.copyWithin(kept, at, at + take);
          kept += take;
          at += take;
          left -= take;
          if (left === 0) place = "data-cr";
          continue;
        }
        if (++control > MOST_CONTROL_BYTES) throw malformed("its chunks carry too much besides their bytes");
        const next = control1(bytes[at] ?? 0);
        at++;
        if (next === "end") return { kept, used: at, ended: true };
        place = next;
      }
      return { kept, used: at, ended: false };
    },
  };
}

function hexOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

import { malformed } from "../source.ts";

/** Reads opcode arguments from the bytes of a pickle in sequence. Every read is limited to these bytes. */
export interface PickleBytesReader {
  /** Returns the read position. */
  at(): number;
  /** Skips bytes and returns their start. @throws RAN_OUT */
  take(length: number): number;
  u8(): number;
  u16(): number;
  i32(): number;
  u32(): number;
  /** Reads a length. @throws Fault MALFORMED above 2^53 */
  u64(): number;
  /** Reads a big-endian double. */
  float(): number;
  /** Reads a line and its line feed. @throws Fault MALFORMED for an overlong line */
  line(): string;
  /** Reads UTF-8 text of `length` bytes. */
  text(length: number): string;
  /** Reads a signed little-endian number of up to 16 bytes. */
  signed(length: number): bigint;
}

const MOST_LINE_BYTES = 1_024;

/** Thrown when the bytes end early, although all bytes so far were valid. */
export const RAN_OUT = new Error("the bytes ran out");

/** Returns a reader that begins at `start`. */
export function createPickleBytes(bytes: Buffer, start: number): PickleBytesReader {
  let at = start;
  const take = (length: number): number => {
    if (length > bytes.length - at) throw RAN_OUT;
    at += length;
    return at - length;
  };
  return {
    at: () => at,
    take,
    u8: () => bytes.readUInt8(take(1)),
    u16: () => bytes.readUInt16LE(take(2)),
    i32: () => bytes.readInt32LE(take(4)),
    u32: () => bytes.readUInt32LE(take(4)),
    u64: () => {
      const length = bytes.readBigUInt64LE(take(8));
      if (length > BigInt(Number.MAX_SAFE_INTEGER)) throw malformed("its pickle holds a length that cannot be");
      return Number(length);
    },
    float: () => bytes.readDoubleBE(take(8)),
    line: () => {
      const end = bytes.indexOf(10, at);
      if (end < 0 && bytes.length - at <= MOST_LINE_BYTES) throw RAN_OUT;
      if (end < 0 || end - at > MOST_LINE_BYTES) throw malformed("its pickle holds a line without end");
      const from = take(end - at + 1);
      return bytes.toString("utf8", from, end);
    },
    text: (length) => {
      const from = take(length);
      return bytes.toString("utf8", from, from + length);
    },
    signed: (length) => {
      const from = take(length);
      let value = 0n;
      for (let index = length - 1; index >= 0; index--) value = (value << 8n) | BigInt(bytes.readUInt8(from + index));
      return length === 0 ? 0n : BigInt.asIntN(length * 8, value);
    },
  };
}

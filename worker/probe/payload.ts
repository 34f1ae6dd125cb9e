import { createHash, randomBytes } from "node:crypto";
import type { StoreChecksum } from "#protocol/wire/store-checksum.ts";
import type { PartSums } from "../transfer/upload/read-part.ts";
import { sumToHex } from "#storage/checksums/combine-crc32.ts";
import { sumBytes } from "../base/sum-bytes.ts";

/**
 * Incompressible bytes: a random block that is repeated to the length of a part, from a different offset for each part. The
 * block is made once, so that generating bytes costs nothing during the measurement.
 */
export interface Payload {
  sums(part: number, checksum: StoreChecksum): PartSums;
  /** Fills `into` with the bytes of a part from offset `at` on. */
  fill(part: number, into: Buffer, at: number): void;
  readonly partBytes: number;
}

const MOST_BLOCK_BYTES = 4 * 1024 * 1024;
/** A prime, so that parts begin at different offsets, not aligned to anything that a compressor looks for. */
const SHIFT_BYTES = 65_537;

export function createPayload(partBytes: number): Payload {
  const block = randomBytes(Math.min(MOST_BLOCK_BYTES, partBytes));
  const startOf = (part: number, at: number) => (part * SHIFT_BYTES + at) % block.length;
  const pieces = function* (part: number, at: number, length: number): Generator<Buffer> {
    for (let done = 0; done < length;) {
      const from = startOf(part, at + done);
      const piece = block.subarray(from, from + Math.min(block.length - from, length - done));
      done += piece.length;
      yield piece;
    }
  };
  return {
    partBytes,
    sums: (part, checksum) => {
      const md5 = checksum === "md5" ? createHash("md5") : null;
      let sum = 0;
      for (const piece of pieces(part, 0, partBytes)) {
        sum = sumBytes(piece, sum);
        md5?.update(piece);
      }
      return { crc32: sumToHex(sum), ...(md5 === null ? {} : { md5: md5.digest("hex") }) };
    },
    fill: (part, into, at) => {
      let filled = 0;
      for (const piece of pieces(part, at, into.length)) filled += piece.copy(into, filled);
    },
  };
}

import { createHash } from "node:crypto";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { sumBytes } from "#worker/base/sum-bytes.ts";

/**
 * Computes the checksums that stores keep: of all bytes of an object, or, after a multipart upload, a composite checksum
 * over the checksums of its parts (`-N` for N parts). A composite checksum depends on the part length.
 */
export interface PartDigest {
  add(bytes: Uint8Array): void;
  /** Returns the checksum in the store's notation, without quotes. */
  end(): string;
}

export type Algorithm = "crc32" | "md5";

/** Creates a digest over all bytes: `crc32` in base64, `md5` in hex, as in HTTP headers. */
export function createWholeDigest(algorithm: Algorithm): PartDigest {
  if (algorithm === "md5") {
    const sum = createHash("md5");
    return { add: (bytes) => void sum.update(bytes), end: () => sum.digest("hex") };
  }
  let sum = "00000000";
  return {
    add: (bytes) => {
      sum = crc32Hex(bytes, sum);
    },
    end: () => Buffer.from(sum, "hex").toString("base64"),
  };
}

/** Creates a composite digest over parts of `partBytes`, in the form with `-N`. */
export function createPartsDigest(algorithm: Algorithm, partBytes: number): PartDigest {
  const whole = createWholeDigest(algorithm);
  let part = createPart(algorithm);
  let [filled, count] = [0, 0];
  const close = () => {
    whole.add(part.end());
    part = createPart(algorithm);
    filled = 0;
    count++;
  };
  return {
    add: (bytes) => {
      for (let at = 0; at < bytes.length;) {
        const taken = bytes.subarray(at, at + partBytes - filled);
        part.add(taken);
        at += taken.length;
        filled += taken.length;
        if (filled === partBytes) close();
      }
    },
    end: () => {
      if (filled > 0) close();
      return `${whole.end()}-${count}`;
    },
  };
}

function createPart(algorithm: Algorithm): { add(bytes: Uint8Array): void; end(): Buffer } {
  if (algorithm === "md5") {
    const sum = createHash("md5");
    return { add: (bytes) => void sum.update(bytes), end: () => sum.digest() };
  }
  let sum = 0;
  return {
    add: (bytes) => {
      sum = sumBytes(bytes, sum);
    },
    end: () => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(sum);
      return bytes;
    },
  };
}

const MIB = 1024 * 1024;
/** Part lengths that Tidemark and other tools commonly use. */
const USUAL_BYTES = [5, 6, 8, 10, 12, 15, 16, 20, 24, 25, 32, 48, 50, 64, 96, 100, 128, 192, 256, 512, 1024].flatMap(
  (count) => [count * MIB, count * 1_000_000],
);
/** Limits the guesses, because each costs another checksum over the whole file. */
const MOST_GUESSES = 6;

/** Returns part lengths that give `partCount` parts for `sizeBytes`, likely ones first. */
export function guessPartBytes(about: { sizeBytes: number; partCount: number; planned: number }): number[] {
  const { sizeBytes, partCount, planned } = about;
  if (partCount < 1) return [];
  const fits = (partBytes: number) => Math.ceil(sizeBytes / partBytes) === partCount;
  // For large files, rclone, boto3 and others choose the smallest whole MiB that keeps to the part limit.
  const least = Math.ceil(sizeBytes / partCount / MIB) * MIB;
  return [...new Set([planned, ...USUAL_BYTES, least, sizeBytes])].filter(fits).slice(0, MOST_GUESSES);
}

import { createHash, randomFillSync } from "node:crypto";
import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";

/** What a trial moves: one large file, or a folder of small ones and one of several parts. */
export interface Payload {
  readonly shape: "one" | "many";
  /** A file, or a folder. */
  readonly path: string;
  /** SHA-256 by relative path; the path of a single file is its name. */
  readonly sums: Readonly<Record<string, string>>;
  readonly sizes: Readonly<Record<string, number>>;
  readonly totalBytes: number;
}

export type PayloadSize = "small" | "large";

const KIB = 1024;
const MIB = 1024 * KIB;
export const PART_BYTES = 5 * MIB;

const SHAPES: Readonly<Record<PayloadSize, { one: number; many: readonly number[] }>> = {
  small: { one: 11 * MIB + 333, many: [6 * MIB + 1, ...Array.from({ length: 9 }, (_, index) => index * 70 * KIB)] },
  large: {
    one: 48 * MIB + 77,
    many: [11 * MIB + 5, 7 * MIB, ...Array.from({ length: 38 }, (_, index) => index * 40 * KIB + 1)],
  },
};

/** Writes random bytes; returns their SHA-256. */
export function writeRandom(path: string, sizeBytes: number): string {
  const hash = createHash("sha256");
  const block = Buffer.allocUnsafe(MIB);
  const file = openSync(path, "w");
  try {
    for (let written = 0; written < sizeBytes; written += block.length) {
      const piece = block.subarray(0, Math.min(block.length, sizeBytes - written));
      randomFillSync(piece);
      hash.update(piece);
      writeSync(file, piece);
    }
  } finally {
    closeSync(file);
  }
  return hash.digest("hex");
}

export function writePayload(folder: string, shape: Payload["shape"], size: PayloadSize): Payload {
  if (shape === "one") return writeFileOf(join(folder, "one.bin"), SHAPES[size].one);
  const path = join(folder, "many");
  mkdirSync(join(path, "deep"), { recursive: true });
  const sums: Record<string, string> = {};
  const sizes: Record<string, number> = {};
  for (const [index, sizeBytes] of SHAPES[size].many.entries()) {
    const name = `${index % 3 === 2 ? "deep/" : ""}file-${String(index).padStart(2, "0")}.bin`;
    sums[name] = writeRandom(join(path, name), sizeBytes);
    sizes[name] = sizeBytes;
  }
  return { shape: "many", path, sums, sizes, totalBytes: Object.values(sizes).reduce((sum, bytes) => sum + bytes, 0) };
}

/** One file of this many bytes. */
export function writeFileOf(path: string, sizeBytes: number): Payload {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const sum = writeRandom(path, sizeBytes);
  return { shape: "one", path, sums: { [name]: sum }, sizes: { [name]: sizeBytes }, totalBytes: sizeBytes };
}

import { sumToHex } from "#storage/checksums/combine-crc32.ts";
import type { PlannedPart } from "#storage/s3/plan.ts";
import { sumBytes } from "#worker/base/sum-bytes.ts";

/** A part whose bytes are in memory. */
export interface FilledPart {
  part: PlannedPart;
  /** Bytes of the part, a view of the start of `lent`. */
  bytes: Buffer;
  lent: Buffer;
  /** CRC32 of the bytes as they came in, hex. */
  crc32: string;
  isLast: boolean;
}

/**
 * Yields an input that can be read once in parts of `partBytes`; the last may be shorter, and an empty input has none. Yields
 * a part once it is known whether it is the last. `lend`: resolves with memory of at least `partBytes`. Faults: those of the
 * input and of `lend`.
 */
export async function* fillParts(
  input: AsyncIterable<Buffer>,
  { partBytes, lend }: { partBytes: number; lend: () => Promise<Buffer> },
): AsyncGenerator<FilledPart, void, void> {
  let [partNumber, offset, length, sum] = [1, 0, 0, 0];
  let lent: Buffer | null = null;
  const filled = (memory: Buffer, isLast: boolean): FilledPart => ({
    part: { partNumber, offset, length },
    bytes: memory.subarray(0, length),
    lent: memory,
    crc32: sumToHex(sum),
    isLast,
  });
  for await (const chunk of input) {
    for (let at = 0; at < chunk.length;) {
      if (lent !== null && length === partBytes) {
        yield filled(lent, false);
        lent = null;
        partNumber++;
        offset += length;
      }
      if (lent === null) {
        lent = await lend();
        length = 0;
        sum = 0;
      }
      const taken = chunk.subarray(at, at + partBytes - length);
      sum = sumBytes(taken, sum);
      lent.set(taken, length);
      length += taken.length;
      at += taken.length;
    }
  }
  if (lent !== null) yield filled(lent, true);
}

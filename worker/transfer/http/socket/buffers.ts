/**
 * Buffers that move bytes between the network and files. They are lent to a request only while its bytes flow, so memory
 * follows the number of busy connections and not the size of what they carry; what came back is lent again.
 */
export interface Buffers {
  readonly sizeBytes: number;
  /** How many are out now. */
  readonly lent: number;
  take(): Buffer;
  give(buffer: Buffer): void;
  /** Keeps at most `count` unused ones from now on. */
  keep(count: number): void;
}

/** A TLS connection hands over up to 80 KiB that it had decrypted already after it was told to stop. */
const LEAST_BYTES = 128 * 1024;

/** A pool of buffers of `sizeBytes` (at least 128 KiB), of which at most `spare` unused ones are kept. */
export function createBuffers(input: { sizeBytes: number; spare: number }): Buffers {
  const sizeBytes = Math.max(LEAST_BYTES, input.sizeBytes);
  const unused: Buffer[] = [];
  let most = input.spare;
  let lent = 0;
  return {
    sizeBytes,
    get lent() {
      return lent;
    },
    take: () => {
      lent++;
      return unused.pop() ?? Buffer.allocUnsafeSlow(sizeBytes);
    },
    give: (buffer) => {
      lent--;
      if (unused.length < most) unused.push(buffer);
    },
    keep: (count) => {
      most = count;
      if (unused.length > most) unused.length = most;
    },
  };
}

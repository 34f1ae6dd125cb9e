/**
 * Pool of buffers that move bytes between the network and files. A request holds one only while its bytes flow, so memory
 * follows the number of busy connections, not the size of what they carry.
 */
export interface Buffers {
  readonly sizeBytes: number;
  /** Number of buffers in use. */
  readonly lent: number;
  take(): Buffer;
  give(buffer: Buffer): void;
  /** Keeps at most `count` unused buffers from now on. */
  keep(count: number): void;
}

/** A TLS connection may deliver up to 80 KiB that were decrypted already after it was paused. */
const LEAST_BYTES = 128 * 1024;

/** Creates a pool of buffers of `sizeBytes` (at least 128 KiB), of which at most `spare` unused ones are kept. */
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

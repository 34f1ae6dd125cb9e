/**
 * Memory for small objects, used again and again: thousands of them in buffers of their own would lie about until they are
 * collected, and be felt as memory long after.
 */
export interface SmallBuffers {
  /** At least so long. */
  lend(lengthBytes: number): Buffer;
  /** Nobody reads or writes it any more. */
  takeBack(buffer: Buffer): void;
}

const LEAST_BYTES = 4096;

/** Keeps at most `mostBytes` that nobody uses. */
export function createSmallBuffers(mostBytes: number): SmallBuffers {
  const unused = new Map<number, Buffer[]>();
  let keptBytes = 0;
  return {
    lend: (lengthBytes) => {
      const sizeBytes = 2 ** Math.ceil(Math.log2(Math.max(LEAST_BYTES, lengthBytes)));
      const found = unused.get(sizeBytes)?.pop();
      if (found === undefined) return Buffer.allocUnsafeSlow(sizeBytes);
      keptBytes -= sizeBytes;
      return found;
    },
    takeBack: (buffer) => {
      if (keptBytes + buffer.length > mostBytes) return;
      keptBytes += buffer.length;
      const alike = unused.get(buffer.length) ?? [];
      alike.push(buffer);
      unused.set(buffer.length, alike);
    },
  };
}

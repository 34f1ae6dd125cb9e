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
/** Lengths between two powers of two; those of one such step are lent the same buffers. */
const STEPS = 8;
/** Of the memory for buffers, what is kept of it for the next small objects. */
const KEPT_SHARE = 1 / 4;
const lent = new WeakMap<object, SmallBuffers>();

/** Those of one engine. */
export function smallBuffersOf(engine: { memoryBytes: number }): SmallBuffers {
  const buffers = lent.get(engine) ?? createSmallBuffers(engine.memoryBytes * KEPT_SHARE);
  lent.set(engine, buffers);
  return buffers;
}

const MOST_SMALL_BYTES = 128 * 1024;
/** So many of the largest fit into the memory for buffers; an eighth of them may be on their way, and with room for a
 * head before it each takes twice as much. */
const FIT_INTO_MEMORY = 1024;

/** Whether so many bytes may be held in memory as a whole. */
export const isSmallFor = ({ memoryBytes }: { memoryBytes: number }, lengthBytes: number): boolean =>
  lengthBytes > 0 && lengthBytes <= Math.min(MOST_SMALL_BYTES, memoryBytes / FIT_INTO_MEMORY);

function stepAbove(bytes: number): number {
  const step = 2 ** Math.floor(Math.log2(bytes)) / STEPS;
  return Math.ceil(bytes / step) * step;
}

/** Keeps at most `mostBytes` that nobody uses. */
export function createSmallBuffers(mostBytes: number): SmallBuffers {
  const unused = new Map<number, Buffer[]>();
  let keptBytes = 0;
  return {
    lend: (lengthBytes) => {
      const sizeBytes = stepAbove(Math.max(LEAST_BYTES, lengthBytes));
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

/**
 * Pool of buffers for small objects. Thousands of separate buffers would stay allocated until they are collected, and the
 * process would keep that memory for long.
 */
export interface SmallBuffers {
  /** Returns a buffer of at least `lengthBytes`. */
  lend(lengthBytes: number): Buffer;
  /** Returns a buffer to the pool. Nobody may read or write it any more. */
  takeBack(buffer: Buffer): void;
}

const LEAST_BYTES = 4096;
/** Size classes between two powers of two. */
const STEPS = 8;
/** Share of the memory for buffers that stays allocated for the next small objects. */
const KEPT_SHARE = 1 / 4;
const lent = new WeakMap<object, SmallBuffers>();

/** Returns the pool of an engine. */
export function smallBuffersOf(engine: { memoryBytes: number }): SmallBuffers {
  const buffers = lent.get(engine) ?? createSmallBuffers(engine.memoryBytes * KEPT_SHARE);
  lent.set(engine, buffers);
  return buffers;
}

const MOST_SMALL_BYTES = 128 * 1024;
/**
 * The memory for buffers holds at least this many small objects. An eighth of them may be in flight, and room for a request
 * head doubles the memory of each.
 */
const FIT_INTO_MEMORY = 1024;

/** Returns whether an object of this length may be held in memory as a whole. */
export const isSmallFor = ({ memoryBytes }: { memoryBytes: number }, lengthBytes: number): boolean =>
  lengthBytes > 0 && lengthBytes <= Math.min(MOST_SMALL_BYTES, memoryBytes / FIT_INTO_MEMORY);

function stepAbove(bytes: number): number {
  const step = 2 ** Math.floor(Math.log2(bytes)) / STEPS;
  return Math.ceil(bytes / step) * step;
}

/** Creates a pool that keeps at most `mostBytes` of unused buffers. */
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

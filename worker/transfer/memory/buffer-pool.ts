import { reasonOf, throwIfAborted } from "#worker/base/clock.ts";
import { whenAborted } from "#worker/base/when-aborted.ts";

export interface LentMemory {
  /** Resolves with a buffer as soon as one is unused. Faults: the signal's own, CANCELLED. */
  lend(): Promise<Buffer>;
  takeBack(buffer: Buffer): void;
}

/** Creates a pool of at most `count` buffers of `sizeBytes`, each allocated when it is first needed. */
export function lendMemory(about: { count: number; sizeBytes: number; signal: AbortSignal }): LentMemory {
  const { count, sizeBytes, signal } = about;
  const unused: Buffer[] = [];
  const waiting: ((buffer: Buffer) => void)[] = [];
  let made = 0;
  return {
    lend: async () => {
      throwIfAborted(signal);
      const found = unused.pop();
      if (found !== undefined) return found;
      if (made < count) {
        made++;
        return Buffer.allocUnsafeSlow(sizeBytes);
      }
      return new Promise((resolve, reject) => {
        const forget = whenAborted(signal, () => reject(reasonOf(signal)));
        waiting.push((buffer) => {
          forget();
          resolve(buffer);
        });
      });
    },
    takeBack: (buffer) => {
      const next = waiting.shift();
      if (next === undefined) unused.push(buffer);
      else next(buffer);
    },
  };
}

import { reasonOf, throwIfAborted } from "#worker/base/clock.ts";
import { whenAborted } from "#worker/base/when-aborted.ts";

export interface LentMemory {
  /** As soon as there is one that nobody uses. Faults: the signal's own, CANCELLED. */
  lend(): Promise<Buffer>;
  takeBack(buffer: Buffer): void;
}

/** At most `count` buffers of `sizeBytes`, each made when it is needed first and used again and again. */
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

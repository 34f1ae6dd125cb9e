import { diskSense, type DiskSense } from "#worker/base/adaptive-sync-io.ts";

/**
 * Parts are summed one after the other, in the order in which they were asked for, as long as their bytes come from memory.
 * Side by side all of them would be ready in the same late moment; so the first goes while the others are summed, and they do not
 * all begin to send at once. A disk that has to be waited for is asked for many at a time.
 */
export interface Turns {
  run<T>(work: () => Promise<T>): Promise<T>;
}

export function createTurns(disk: Pick<DiskSense, "isQuick"> = diskSense): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return {
    run: (work) => {
      if (!disk.isQuick()) return work();
      const mine = last.then(work);
      last = mine.catch(() => undefined);
      return mine;
    },
  };
}

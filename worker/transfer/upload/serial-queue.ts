import { diskSense, type DiskSense } from "#worker/base/adaptive-sync-io.ts";

/**
 * Computes the checksums of parts one after the other, in the order of the calls, as long as their bytes come from memory. In
 * parallel all would be ready in the same late moment. In series the first part is sent while others are summed, and they do
 * not all begin to send at once. While the disk is slow, calls run in parallel.
 */
export interface SerialQueue {
  run<T>(work: () => Promise<T>): Promise<T>;
}

export function createSerialQueue(disk: Pick<DiskSense, "isQuick"> = diskSense): SerialQueue {
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

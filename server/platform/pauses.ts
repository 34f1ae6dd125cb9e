import { setImmediate } from "node:timers/promises";

/**
 * Cuts long work on the event loop into slices, so that other calls are answered in between. A loop over many rows calls
 * `isDue` for each row and awaits `take` when it is true.
 */
export interface Pauses {
  /** Returns whether the current slice has lasted long enough. */
  isDue(): boolean;
  /** Yields to the event loop once and begins a new slice. */
  take(): Promise<void>;
}

/** Well below the limit of 50 ms per call, because a slice overruns by the row it has begun. */
const SLICE_MS = 8;

export function createPauses(now: () => number = () => performance.now()): Pauses {
  let since = now();
  return {
    isDue: () => now() - since >= SLICE_MS,
    take: async () => {
      await setImmediate();
      since = now();
    },
  };
}

/** Maps many rows in slices and returns the results in order. */
export async function mapInSlices<From, To>(rows: Iterable<From>, map: (row: From) => To): Promise<To[]> {
  const pauses = createPauses();
  const mapped: To[] = [];
  for (const row of rows) {
    if (pauses.isDue()) await pauses.take();
    mapped.push(map(row));
  }
  return mapped;
}

import { setImmediate } from "node:timers/promises";

/**
 * Cuts long work on the event loop into slices, so that whoever else waits for an answer has a turn in between. A loop over many
 * rows asks `isDue` for each of them and awaits `take` when it is.
 */
export interface Pauses {
  /** Whether the present slice has lasted long enough. */
  isDue(): boolean;
  /** Lets everything that waits for the event loop run, and begins a new slice. */
  take(): Promise<void>;
}

/** Well below the 50 ms that no call may hold the loop: a slice ends only after the row that it has begun. */
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

/** Maps many rows in slices, in their order. */
export async function mapInSlices<From, To>(rows: Iterable<From>, map: (row: From) => To): Promise<To[]> {
  const pauses = createPauses();
  const mapped: To[] = [];
  for (const row of rows) {
    if (pauses.isDue()) await pauses.take();
    mapped.push(map(row));
  }
  return mapped;
}

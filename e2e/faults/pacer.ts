/** A link that came late by up to this much makes it up; time in which it had nothing to carry is credited no further either. */
const MOST_CAUGHT_UP_MS = 1_000;

interface Clock {
  /** Milliseconds. */
  now: () => number;
  sleep: (ms: number) => Promise<void>;
}

/**
 * Returns a function that waits as long as a link is busy with a piece. Timers of a busy machine fire late: the next pieces make
 * up for that. Without it the link would be slower than it was said to be, by as much as the machine is busy.
 */
export function createPacer(clock: Clock): (busyMs: number) => Promise<void> {
  let freeAt: number | null = null;
  return async (busyMs) => {
    const now = clock.now();
    freeAt = Math.max(freeAt ?? now, now - MOST_CAUGHT_UP_MS) + busyMs;
    if (freeAt > now) await clock.sleep(freeAt - now);
  };
}

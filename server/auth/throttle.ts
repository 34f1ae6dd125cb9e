import { Fault } from "#protocol/fault.ts";

/**
 * Slows down guessing. Each key (an account, an address) has some free tries; every further one waits twice as long as
 * the one before, up to five minutes. A try counts when it begins, so that many at once gain nothing.
 */

interface Entry {
  tries: number;
  notBefore: number;
  lastAt: number;
}

export interface Throttle {
  /** Counts a try. @throws Fault TOO_MANY_TRIES while the key has to wait */
  take(key: string, freeTries: number): void;
  /** Forgets the tries of a key that succeeded. */
  clear(key: string): void;
}

const LONGEST_WAIT_MS = 300_000;
const FORGET_AFTER_MS = 3_600_000;
/** Keys come from strangers: the table stays small, the oldest leave first. */
const MOST_KEYS = 20_000;

export function createThrottle(now: () => number): Throttle {
  const entries = new Map<string, Entry>();
  return {
    take: (key, freeTries) => {
      const at = now();
      const known = entries.get(key);
      const entry =
        known !== undefined && at - known.lastAt < FORGET_AFTER_MS ? known : { tries: 0, notBefore: 0, lastAt: 0 };
      if (at < entry.notBefore) {
        const seconds = Math.ceil((entry.notBefore - at) / 1000);
        throw new Fault("TOO_MANY_TRIES", { detail: `wait ${seconds} s`, retryAfterMs: entry.notBefore - at });
      }
      entry.tries++;
      entry.lastAt = at;
      const over = entry.tries - freeTries;
      if (over >= 0) entry.notBefore = at + Math.min(LONGEST_WAIT_MS, 1000 * 2 ** Math.min(over, 20));
      entries.delete(key);
      entries.set(key, entry);
      const oldest = entries.keys().next();
      if (entries.size > MOST_KEYS && oldest.done !== true) entries.delete(oldest.value);
    },
    clear: (key) => {
      entries.delete(key);
    },
  };
}

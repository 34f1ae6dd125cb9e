import { Fault } from "#protocol/faults/fault.ts";

/**
 * Slows down guessing. Each key (an account, an address) has some free tries. After them the wait doubles with each try, up
 * to five minutes. A try counts when it begins, so that parallel tries gain nothing.
 */

/** The used part of an allowance, and the time of that state. */
interface Spent {
  calls: number;
  at: number;
}

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
  /**
   * Takes one call from a token bucket, and returns a function that gives it back. @throws Fault TOO_MANY_TRIES while the
   * bucket is empty
   */
  spend(key: string, allowance: Allowance): () => void;
}

export interface Allowance {
  atOnce: number;
  perSecond: number;
}

const LONGEST_WAIT_MS = 300_000;
const FORGET_AFTER_MS = 3_600_000;
/** Strangers choose the keys, so the table is bounded; the oldest entries are dropped first. */
const MOST_KEYS = 20_000;

function forgetOldest(keys: Map<string, unknown>): void {
  const oldest = keys.keys().next();
  if (keys.size > MOST_KEYS && oldest.done !== true) keys.delete(oldest.value);
}

export function createThrottle(now: () => number): Throttle {
  const entries = new Map<string, Entry>();
  const spent = new Map<string, Spent>();
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
      forgetOldest(entries);
    },
    spend: (key, { atOnce, perSecond }) => {
      const at = now();
      const known = spent.get(key) ?? { calls: 0, at };
      const calls = Math.max(0, known.calls - ((at - known.at) / 1000) * perSecond);
      if (calls + 1 > atOnce) {
        const retryAfterMs = Math.ceil(((calls + 1 - atOnce) / perSecond) * 1000);
        throw new Fault("TOO_MANY_TRIES", { detail: `wait ${Math.ceil(retryAfterMs / 1000)} s`, retryAfterMs });
      }
      spent.delete(key);
      spent.set(key, { calls: calls + 1, at });
      forgetOldest(spent);
      return () => {
        // A later call may have replaced the entry that this one made.
        const entry = spent.get(key);
        if (entry !== undefined) entry.calls = Math.max(0, entry.calls - 1);
      };
    },
    clear: (key) => {
      entries.delete(key);
    },
  };
}

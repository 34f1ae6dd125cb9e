/**
 * How long connections brought nothing and then went on. A store, a link or a machine with too much to do lets all of them
 * wait for seconds; who takes that for their end asks for everything twice, and makes it worse.
 */
export interface Silences {
  /** Something came after this long. */
  ended(silentMs: number): void;
  /** The longest of late; it counts half as much every ten seconds. */
  longestMs(): number;
}

const HALF_LIFE_MS = 10_000;
/** What is shorter tells nothing, and every read asks. */
const LEAST_MS = 100;
/** What is longer was an outage, or the machine slept: that says nothing of the next. */
const MOST_MS = 3_000;

export function createSilences(now: () => number): Silences {
  let longest = 0;
  let at = 0;
  const longestMs = () => longest * 0.5 ** ((now() - at) / HALF_LIFE_MS);
  return {
    ended: (silentMs) => {
      if (silentMs < LEAST_MS || silentMs <= longestMs()) return;
      longest = Math.min(silentMs, MOST_MS);
      at = now();
    },
    longestMs,
  };
}

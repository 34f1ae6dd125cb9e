/**
 * Remembers how long connections were silent before they went on. An overloaded store, link or machine stalls all of them for
 * seconds. Treating such a stall as a dead connection would request everything twice and add to the load.
 */
export interface StallHistory {
  /** Records that bytes came after `silentMs` of silence. */
  ended(silentMs: number): void;
  /** Returns the longest recent silence, ms; its weight halves every ten seconds. */
  longestMs(): number;
}

const HALF_LIFE_MS = 10_000;
/** Shorter gaps are noise, and every read reports one. */
const LEAST_MS = 100;
/** Longer gaps count as this much: an outage or a sleeping machine says nothing about the next gap. */
const MOST_MS = 3_000;

export function createStallHistory(now: () => number): StallHistory {
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

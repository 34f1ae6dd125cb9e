/** The shortest round trips seen lately: TCP handshakes, and requests without a body up to the first byte of the answer. */
export interface Trips {
  add(ms: number): void;
  /** Least of the last ones within five minutes, ms; null when there was none. Cheap. */
  leastMs(): number | null;
  /** An answer began so long after its request was in the kernel's hands. */
  answered(ms: number): void;
  /** How much longer than a round trip that takes lately, ms: what is waited for in queues, on the way or at the store. */
  waitMs(): number;
}

const WINDOW_MS = 5 * 60_000;
const MOST = 32;
/** Of the middle over the last answers, each. */
const SHARE = 1 / 16;

export function createTrips(now: () => number, onTrip: () => void = () => undefined): Trips {
  const trips: { at: number; ms: number }[] = [];
  let least: number | null = null;
  let goodUntil = 0;
  let answerMs: number | null = null;
  return {
    add: (ms) => {
      const at = now();
      let gone = Infinity;
      while (trips.length >= MOST || (trips[0]?.at ?? at) <= at - WINDOW_MS) {
        gone = Math.min(gone, trips.shift()?.ms ?? Infinity);
      }
      trips.push({ at, ms });
      // Each answer is one, so they are only looked through when the least of them went.
      if (least === null || gone <= least) least = trips.reduce((sum, trip) => Math.min(sum, trip.ms), Infinity);
      else least = Math.min(least, ms);
      goodUntil = at + WINDOW_MS;
      onTrip();
    },
    leastMs: () => (now() < goodUntil ? least : null),
    answered: (ms) => {
      answerMs = answerMs === null ? ms : answerMs + (ms - answerMs) * SHARE;
    },
    waitMs: () => Math.max(0, (answerMs ?? 0) - (least ?? Infinity)),
  };
}

/** The shortest round trips seen lately: TCP handshakes, and requests without a body up to the first byte of the answer. */
export interface Trips {
  add(ms: number): void;
  /** Least of the last ones within five minutes, ms; null when there was none. Cheap. */
  leastMs(): number | null;
  /** The middle one of the last seconds, ms: far above the least one, a queue on the way is full. */
  middleMs(): number | null;
}

const WINDOW_MS = 5 * 60_000;
const MOST = 32;
const LATELY_MS = 4_000;
const LEAST_LATELY = 4;

export function createTrips(now: () => number): Trips {
  let trips: { at: number; ms: number }[] = [];
  let least: number | null = null;
  let goodUntil = 0;
  return {
    add: (ms) => {
      const at = now();
      trips = [...trips.filter((trip) => trip.at > at - WINDOW_MS).slice(1 - MOST), { at, ms }];
      least = Math.min(...trips.map((trip) => trip.ms));
      goodUntil = at + WINDOW_MS;
    },
    leastMs: () => (now() < goodUntil ? least : null),
    middleMs: () => {
      const from = now() - LATELY_MS;
      const lately = trips.filter((trip) => trip.at > from).map((trip) => trip.ms);
      if (lately.length < LEAST_LATELY) return null;
      return lately.sort((a, b) => a - b)[Math.floor(lately.length / 2)] ?? null;
    },
  };
}

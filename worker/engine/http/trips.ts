/** The shortest round trips seen lately: TCP handshakes, and requests without a body up to the first byte of the answer. */
export interface Trips {
  add(ms: number): void;
  /** Least of the last ones within five minutes, ms; null when there was none. */
  leastMs(): number | null;
}

const WINDOW_MS = 5 * 60_000;
const MOST = 32;

export function createTrips(now: () => number): Trips {
  const trips: { at: number; ms: number }[] = [];
  return {
    add: (ms) => {
      trips.push({ at: now(), ms });
      if (trips.length > MOST) trips.shift();
    },
    leastMs: () => {
      const since = now() - WINDOW_MS;
      const recent = trips.filter((trip) => trip.at >= since).map((trip) => trip.ms);
      return recent.length === 0 ? null : Math.min(...recent);
    },
  };
}

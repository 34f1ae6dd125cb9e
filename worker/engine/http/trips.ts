/** The shortest round trips seen lately: TCP handshakes, and requests without a body up to the first byte of the answer. */
export interface Trips {
  add(ms: number): void;
  /** Least of the last ones within five minutes, ms; null when there was none. Cheap. */
  leastMs(): number | null;
}

const WINDOW_MS = 5 * 60_000;
const MOST = 32;

export function createTrips(now: () => number, onTrip: () => void = () => undefined): Trips {
  let trips: { at: number; ms: number }[] = [];
  let least: number | null = null;
  let goodUntil = 0;
  return {
    add: (ms) => {
      const at = now();
      trips = [...trips.filter((trip) => trip.at > at - WINDOW_MS).slice(1 - MOST), { at, ms }];
      least = Math.min(...trips.map((trip) => trip.ms));
      goodUntil = at + WINDOW_MS;
      onTrip();
    },
    leastMs: () => (now() < goodUntil ? least : null),
  };
}

import { burstOf, type Burst } from "./burst-of.ts";
import { steadyRate, type Reading, type SteadyRate } from "#worker/base/steady.ts";

/**
 * Readings of a transfer from its first byte to the last acknowledgment, enough to find its steady rate however long it
 * takes. When there are too many, every other one is dropped and later ones are taken half as often.
 */
export interface Pace {
  moved(bytes: number): void;
  /** Records that the store acknowledged a part; before, only the kernel may have had its bytes. */
  arrived(): void;
  /** Returns the measurements; null while nothing has moved. */
  read(): { sentBytes: number; tookMs: number; steady: SteadyRate | null; burst: Burst | null } | null;
}

const LEAST_GAP_MS = 100;
const MOST_READINGS = 800;
const LEAST_WINDOW_MS = 250;
const MOST_WINDOWS = 200;

/** Creates an empty record. `now`: milliseconds, monotonic. */
export function createPace(now: () => number): Pace {
  let readings: Reading[] = [];
  let gapMs = LEAST_GAP_MS;
  let bytes = 0;
  let lastAt = 0;
  let arrivedAt = 0;
  return {
    moved: (more) => {
      lastAt = now();
      if (readings.length === 0) readings.push({ atMs: lastAt, bytes: 0 });
      bytes += more;
      if (lastAt - (readings.at(-1)?.atMs ?? 0) < gapMs) return;
      readings.push({ atMs: lastAt, bytes });
      if (readings.length < MOST_READINGS) return;
      readings = readings.filter((_, index) => index % 2 === 0);
      gapMs *= 2;
    },
    arrived: () => {
      arrivedAt = now();
    },
    read: () => {
      const first = readings[0];
      if (first === undefined) return null;
      const movedMs = lastAt - first.atMs;
      const windowMs = Math.max(LEAST_WINDOW_MS, gapMs, Math.ceil(movedMs / MOST_WINDOWS));
      const all = [...readings, { atMs: Math.max(lastAt, first.atMs + 1), bytes }];
      const tookMs = Math.max(lastAt, arrivedAt) - first.atMs;
      return { sentBytes: bytes, tookMs, steady: steadyRate(all, windowMs), burst: burstOf(all) };
    },
  };
}

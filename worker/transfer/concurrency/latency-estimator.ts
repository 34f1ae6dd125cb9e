import type { Meter } from "../progress/meter.ts";

/**
 * Statistics of finished parts and files: how long one takes, and what the link carries. Hedging compares flights in progress
 * with them.
 */
export interface LatencyEstimator {
  landed(lengthBytes: number, tookMs: number): void;
  /** Returns the median duration of flights of this length, ms; null when too few have finished. */
  usualMs(lengthBytes: number): number | null;
  /**
   * Returns the rate of the last 1.5 s in bytes per second, or Infinity while that window is too short. Each call takes a
   * sample, so it needs a few calls a second.
   */
  rateOfLink(nowMs: number): number;
  /** Highest rate measured so far, bytes per second; 0 before. */
  readonly bestRate: number;
}

/** Fewest finished requests that a comparison of latencies needs. */
const LEAST_LANDED = 3;
const MOST_REMEMBERED = 32;
/** Window of the recent rate. */
const RATE_MS = 1_500;

export function createLatencyEstimator(meter: Pick<Meter, "totalBytes">): LatencyEstimator {
  const all: { lengthBytes: number; tookMs: number }[] = [];
  const looks: { at: number; bytes: number }[] = [];
  let firstLookAt = Infinity;
  let bestRate = 0;
  return {
    landed: (lengthBytes, tookMs) => {
      if (all.push({ lengthBytes, tookMs }) > MOST_REMEMBERED) all.shift();
    },
    usualMs: (lengthBytes) => {
      const alike = all.filter((other) => other.lengthBytes === lengthBytes).map(({ tookMs }) => tookMs);
      if (alike.length < LEAST_LANDED) return null;
      return alike.sort((a, b) => a - b)[Math.floor(alike.length / 2)] ?? null;
    },
    rateOfLink: (nowMs) => {
      firstLookAt = Math.min(firstLookAt, nowMs);
      while (looks[0] !== undefined && nowMs - looks[0].at > RATE_MS) looks.shift();
      looks.push({ at: nowMs, bytes: meter.totalBytes });
      const [first] = looks;
      // The first samples only show how socket buffers fill.
      if (first === undefined || nowMs - first.at < RATE_MS / 2 || nowMs - firstLookAt < 2 * RATE_MS) return Infinity;
      const rate = ((meter.totalBytes - first.bytes) * 1000) / (nowMs - first.at);
      bestRate = Math.max(bestRate, rate);
      return rate;
    },
    get bestRate() {
      return bestRate;
    },
  };
}

import type { Meter } from "../progress/meter.ts";

/** What the parts and files that are through tell about those that are still on their way: how long one takes, and what the link carries. */
export interface FlightMemory {
  landed(lengthBytes: number, tookMs: number): void;
  /** Milliseconds that one of this length usually takes; null when too few are known. */
  usualMs(lengthBytes: number): number | null;
  /** Bytes per second of late; Infinity while that would be no measure. To be asked a few times a second. */
  rateOfLink(nowMs: number): number;
  /** The most that was told, bytes per second; 0 before. */
  readonly bestRate: number;
}

/** Fewest finished requests that a comparison of latencies needs. */
const LEAST_LANDED = 3;
const MOST_REMEMBERED = 32;
/** Window of the recent rate. */
const RATE_MS = 1_500;

export function createFlightMemory(meter: Pick<Meter, "totalBytes">): FlightMemory {
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
      // The first ones only saw buffers fill.
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

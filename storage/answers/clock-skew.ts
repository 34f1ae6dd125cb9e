import { formatDuration } from "#protocol/base/units.ts";

/**
 * Estimates the offset between this machine's clock and the store's from the Date header of every answer. One answer
 * bounds the offset: the store wrote its whole second between our sending and our receiving. Further answers narrow the
 * bounds. An answer that contradicts the bounds means that a clock was set, so the estimate starts anew. Pure.
 */

export interface ClockSample {
  /** Epoch ms by this machine's clock: when the request was sent and when the head of its answer arrived. */
  sentAtMs: number;
  receivedAtMs: number;
  /** The answer's Date header. */
  date: string | undefined;
}

/** Bounds of the store's clock minus this machine's, ms. */
export interface ClockBounds {
  readonly leastMs: number;
  readonly mostMs: number;
}

/** Every store tolerates a smaller offset. Larger ones fail on some: the protocol allows 15 minutes, some gateways less. */
const TOLERATED_MS = 60_000;
/** Slower answers bound the offset too loosely. */
const MOST_TRIP_MS = 30_000;

/** Cache of the last parsed Date: thousands of answers in one second carry the same text. */
const lastSaid = { date: "", ms: Number.NaN };

function timeOf(date: string): number {
  if (date !== lastSaid.date) {
    lastSaid.date = date;
    lastSaid.ms = Date.parse(date);
  }
  return lastSaid.ms;
}

function boundsOf({ sentAtMs, receivedAtMs, date }: ClockSample): ClockBounds | null {
  const storeTime = timeOf(date ?? "");
  const trip = receivedAtMs - sentAtMs;
  if (Number.isNaN(storeTime) || trip < 0 || trip > MOST_TRIP_MS) return null;
  // Date has whole seconds, so the store may have written it up to 999 ms later.
  return { leastMs: storeTime - receivedAtMs, mostMs: storeTime + 999 - sentAtMs };
}

/** Returns the bounds after one more answer. An answer without a usable Date changes nothing. */
export function measureClock(known: ClockBounds | null, sample: ClockSample): ClockBounds | null {
  const seen = boundsOf(sample);
  if (seen === null) return known;
  if (known === null || seen.leastMs > known.mostMs || seen.mostMs < known.leastMs) return seen;
  return { leastMs: Math.max(known.leastMs, seen.leastMs), mostMs: Math.min(known.mostMs, seen.mostMs) };
}

/** Returns the midpoint of the bounds: the estimated offset of the store's clock from ours, ms. */
export const clockOffsetMs = (known: ClockBounds): number => Math.round((known.leastMs + known.mostMs) / 2);

/** Returns the ms to add to this machine's clock when signing: 0 unless the offset certainly exceeds a minute. */
export function clockCorrectionMs(known: ClockBounds | null): number {
  if (known === null) return 0;
  const isOff = known.leastMs > TOLERATED_MS || known.mostMs < -TOLERATED_MS;
  return isOff ? clockOffsetMs(known) : 0;
}

/** Returns for example `this machine's clock is 2 h ahead of the store's`; null while the offset is tolerable. */
export function sayClock(known: ClockBounds | null): string | null {
  const correction = clockCorrectionMs(known);
  if (correction === 0) return null;
  const side = correction < 0 ? "ahead of" : "behind";
  // The estimate is no more exact than a second, and whole minutes read better.
  const rounded = Math.round(Math.abs(correction) / 60_000) * 60_000;
  return `this machine's clock is ${formatDuration(rounded)} ${side} the store's`;
}

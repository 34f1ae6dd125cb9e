import { formatDuration } from "#protocol/base/units.ts";

/**
 * How far this machine's clock is from the store's, from nothing but the Date header that every answer carries. One
 * answer bounds the offset: the store wrote its whole second between our sending and our receiving. Further answers
 * narrow the bounds; one that contradicts them means that a clock was set, and starts anew. Pure.
 */

export interface ClockSample {
  /** By this machine's clock, epoch ms: when the request was sent and when the head of its answer was here. */
  sentAtMs: number;
  receivedAtMs: number;
  /** The answer's Date header. */
  date: string | undefined;
}

/** The store's clock minus ours lies between the two, in ms. */
export interface ClockBounds {
  readonly leastMs: number;
  readonly mostMs: number;
}

/** Below this no store minds; above some do (15 minutes by the protocol, less on some gateways). */
const TOLERATED_MS = 60_000;
/** An answer that took longer says too little about the time. */
const MOST_TRIP_MS = 30_000;

/** A store that answers a thousand times a second says the same a thousand times. */
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
  // Date has whole seconds: the moment it was written is up to one second later.
  return { leastMs: storeTime - receivedAtMs, mostMs: storeTime + 999 - sentAtMs };
}

/** What is known after one more answer. An answer without a usable Date changes nothing. */
export function measureClock(known: ClockBounds | null, sample: ClockSample): ClockBounds | null {
  const seen = boundsOf(sample);
  if (seen === null) return known;
  if (known === null || seen.leastMs > known.mostMs || seen.mostMs < known.leastMs) return seen;
  return { leastMs: Math.max(known.leastMs, seen.leastMs), mostMs: Math.min(known.mostMs, seen.mostMs) };
}

/** The best guess of the store's clock minus ours, ms. */
export const clockOffsetMs = (known: ClockBounds): number => Math.round((known.leastMs + known.mostMs) / 2);

/** What to add to this machine's clock when signing: nothing while it is certain to be within a minute or may be. */
export function clockCorrectionMs(known: ClockBounds | null): number {
  if (known === null) return 0;
  const isOff = known.leastMs > TOLERATED_MS || known.mostMs < -TOLERATED_MS;
  return isOff ? clockOffsetMs(known) : 0;
}

/** `this machine's clock is 2 h ahead of the store's`; null while it is near enough. */
export function sayClock(known: ClockBounds | null): string | null {
  const correction = clockCorrectionMs(known);
  if (correction === 0) return null;
  const side = correction < 0 ? "ahead of" : "behind";
  // A correction is never more exact than a second, and a whole minute reads better.
  const rounded = Math.round(Math.abs(correction) / 60_000) * 60_000;
  return `this machine's clock is ${formatDuration(rounded)} ${side} the store's`;
}

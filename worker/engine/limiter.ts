import { reasonOf, throwIfAborted, type Clock } from "./clock.ts";

/**
 * An exact token bucket over all connections of one direction: in any stretch of time, at most the rate times that
 * stretch plus one small burst passes. Each part has a lane, and the lane opened first goes first: when the rate is what
 * limits, parts complete one after another instead of all at the same late moment, so a kill or a pause loses little.
 * Stores hang up on a connection that is silent in mid-request, so a lane in use gets a chunk now and then all the same.
 */
export interface Limiter {
  /** A place in the line. `isOpen`: the connection is in use before its first byte passes here (a download). */
  lane(wants?: { isOpen: boolean }): Lane;
  /** 0 lifts the limit. */
  setRate(bytesPerSecond: number): void;
}

export interface Lane {
  /** Resolves when `bytes` may pass. Faults: CANCELLED or the signal's own. */
  take(bytes: number, signal: AbortSignal): Promise<void>;
}

/** Tenth of a second of burst: small enough to be invisible, large enough that timers are not the limit. */
const BURST_SECONDS = 0.1;
/** Amazon hangs up after about twenty silent seconds. */
const LONGEST_SILENCE_MS = 5_000;

interface Waiter {
  place: number;
  bytes: number;
  /** When it may jump the line. */
  patientUntil: number;
  pass(): void;
}

export function createLimiter(clock: Clock, bytesPerSecond: number): Limiter {
  const bucket = { rate: bytesPerSecond, tokens: 0, filledAt: clock.now() };
  const waiting = new Set<Waiter>();
  let places = 0;
  let isServing = false;

  const refill = () => {
    const now = clock.now();
    bucket.tokens = Math.min(
      bucket.rate * BURST_SECONDS,
      bucket.tokens + ((now - bucket.filledAt) / 1000) * bucket.rate,
    );
    bucket.filledAt = now;
  };
  const next = (): Waiter | undefined => {
    let first: Waiter | undefined;
    let silent: Waiter | undefined;
    const now = clock.now();
    for (const waiter of waiting) {
      if (first === undefined || waiter.place < first.place) first = waiter;
      if (waiter.patientUntil <= now && (silent === undefined || waiter.patientUntil < silent.patientUntil)) {
        silent = waiter;
      }
    }
    return silent ?? first;
  };
  const serve = async () => {
    if (isServing) return;
    isServing = true;
    while (waiting.size > 0) {
      refill();
      const waiter = bucket.rate > 0 && bucket.tokens < 0 ? undefined : next();
      if (waiter === undefined) {
        await clock.sleep(Math.min(1000, Math.max(1, (-bucket.tokens / bucket.rate) * 1000)));
        continue;
      }
      waiting.delete(waiter);
      // A chunk may be larger than the burst: it goes into debt, and the next one waits until that is paid.
      if (bucket.rate > 0) bucket.tokens -= waiter.bytes;
      waiter.pass();
    }
    isServing = false;
  };
  return {
    lane: ({ isOpen } = { isOpen: false }) => {
      const place = places++;
      let inUse = isOpen;
      return {
        take: async (bytes, signal) => {
          if (bucket.rate <= 0) return;
          throwIfAborted(signal);
          await new Promise<void>((resolve, reject) => {
            const patientUntil = inUse ? clock.now() + LONGEST_SILENCE_MS : Infinity;
            const leave = () => {
              waiting.delete(waiter);
              reject(reasonOf(signal));
            };
            const pass = () => {
              signal.removeEventListener("abort", leave);
              inUse = true;
              resolve();
            };
            const waiter: Waiter = { place, bytes, patientUntil, pass };
            waiting.add(waiter);
            signal.addEventListener("abort", leave, { once: true });
            void serve();
          });
        },
      };
    },
    setRate: (rate) => {
      refill();
      bucket.rate = rate;
      if (rate <= 0) bucket.tokens = 0;
    },
  };
}

import { throwIfAborted, type Clock } from "./clock.ts";

/**
 * An exact token bucket over all connections of one direction: in any stretch of time, at most the rate times that
 * stretch plus one small burst passes. Callers are served in the order in which they ask, so no connection starves.
 */
export interface Limiter {
  /** Resolves when `bytes` may pass. */
  take(bytes: number, signal: AbortSignal): Promise<void>;
  /** 0 lifts the limit. */
  setRate(bytesPerSecond: number): void;
}

/** Tenth of a second of burst: small enough to be invisible, large enough that timers are not the limit. */
const BURST_SECONDS = 0.1;

export function createLimiter(clock: Clock, bytesPerSecond: number): Limiter {
  const bucket = { rate: bytesPerSecond, tokens: 0, filledAt: clock.now() };
  let queue: Promise<void> = Promise.resolve();

  const refill = () => {
    const now = clock.now();
    bucket.tokens = Math.min(
      bucket.rate * BURST_SECONDS,
      bucket.tokens + ((now - bucket.filledAt) / 1000) * bucket.rate,
    );
    bucket.filledAt = now;
  };
  const pass = async (bytes: number, signal: AbortSignal) => {
    while (bucket.rate > 0) {
      throwIfAborted(signal);
      refill();
      if (bucket.tokens >= 0) {
        // A chunk may be larger than the burst: it goes into debt, and the next one waits until that is paid.
        bucket.tokens -= bytes;
        return;
      }
      await clock.sleep(Math.min(1000, Math.max(1, (-bucket.tokens / bucket.rate) * 1000)), signal);
    }
  };
  return {
    take: async (bytes, signal) => {
      if (bucket.rate <= 0) return;
      const turn = queue.then(() => pass(bytes, signal));
      queue = turn.catch(() => undefined);
      await turn;
    },
    setRate: (next) => {
      refill();
      bucket.rate = next;
    },
  };
}

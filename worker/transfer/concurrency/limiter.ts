import { reasonOf, throwIfAborted, type Clock } from "#worker/base/clock.ts";
import { createWaitingLine, type Waiter } from "./waiting-line.ts";

/**
 * A token bucket over all connections of one direction: in any interval at most the rate times the interval plus one small
 * burst passes. Each part has a lane, and the lane opened first goes first. So parts complete one after another instead of
 * all at the same late moment, and a kill or a pause loses little. Stores close connections that are silent mid-request, so
 * each lane in use still gets a piece now and then.
 *
 * Bytes pass in pieces of 20 ms, which keeps the rate even and many lanes alive. An upload takes piece by piece. A download
 * already holds its bytes, so it takes all of them and then waits. Without a limit each call is one comparison and no
 * promise.
 */
export interface Limiter {
  /**
   * Opens a lane behind all earlier ones. `isOpen`: its connection is in use before its first byte passes here (a download).
   */
  lane(wants?: { isOpen: boolean }): Lane;
  /** Sets the rate at once, also for waiting lanes. 0 lifts the limit. */
  setRate(bytesPerSecond: number): void;
  /** Present rate; 0 is no limit. */
  readonly bytesPerSecond: number;
  /** Whether the limit, not the link, bounds the rate at present: a lane waits, or the tokens are spent. */
  readonly isHolding: boolean;
}

export interface Lane {
  /**
   * Returns how many of `bytes` may pass now, and charges them. Without a limit all may; 0: use `take` or `takeSome`. Never
   * waits.
   */
  tryTake(bytes: number): number;
  /** Resolves with how many of `bytes` may pass, once at least one may. Faults: CANCELLED or the signal's own. */
  takeSome(bytes: number, signal: AbortSignal): Promise<number>;
  /** Resolves when all `bytes` may pass. Faults: CANCELLED or the signal's own. */
  take(bytes: number, signal: AbortSignal): Promise<void>;
}

/**
 * Charges bytes that have already arrived. Returns undefined when all may pass, which avoids a promise. Faults: those of
 * `take`.
 */
export function pay(lane: Lane, bytes: number, signal: AbortSignal): Promise<void> | undefined {
  const unpaid = bytes - lane.tryTake(bytes);
  return unpaid === 0 ? undefined : lane.take(unpaid, signal);
}

/** Seconds of the rate that may pass at once after an idle time: too few to show in any few seconds. */
const IDLE_BURST_SECONDS = 0.1;
/** Seconds of the rate that are caught up when a timer fires late: more would show as a burst. */
const LATE_BURST_SECONDS = 0.15;
/** Length of one piece. A round of such pieces over 96 lanes takes two seconds, whatever the rate. */
const SLICE_SECONDS = 0.02;
const LEAST_SLICE_BYTES = 512;
const MOST_SLICE_BYTES = 1024 * 1024;
/** A lane in use jumps the queue after this silence. With a round of 96 silent lanes its wait stays below five seconds. */
const PATIENCE_MS = 2_900;
/** Timers are not finer than this in practice, and fewer wake-ups cost less. */
const LEAST_SLEEP_MS = 2;
const MOST_SLEEP_MS = 1_000;

export function createLimiter(clock: Clock, bytesPerSecond: number): Limiter {
  let rate = bytesPerSecond;
  let tokens = 0;
  let filledAt = clock.now();
  const waiting = createWaitingLine();
  let places = 0;
  let isServing = false;
  let sleeping: AbortController | null = null;

  const pieceOf = (bytes: number): number => {
    if (rate <= 0) return bytes;
    return Math.min(bytes, MOST_SLICE_BYTES, Math.max(LEAST_SLICE_BYTES, Math.round(rate * SLICE_SECONDS)));
  };
  const refill = () => {
    const now = clock.now();
    const most = rate * (waiting.length > 0 ? LATE_BURST_SECONDS : IDLE_BURST_SECONDS);
    tokens = Math.min(Math.max(most, tokens), tokens + ((now - filledAt) / 1000) * rate);
    filledAt = now;
  };
  const serve = async () => {
    if (isServing) return;
    isServing = true;
    while (waiting.length > 0) {
      refill();
      if (rate > 0 && tokens < 0) {
        const paidMs = (-tokens / rate) * 1000;
        sleeping = new AbortController();
        // Aborted when the rate changes, because the delay was computed from the old rate.
        await clock
          .sleep(Math.min(MOST_SLEEP_MS, Math.max(LEAST_SLEEP_MS, paidMs)), sleeping.signal)
          .catch(() => undefined);
        sleeping = null;
        continue;
      }
      const waiter = waiting.next(clock.now());
      if (waiter === undefined) break;
      const bytes = pieceOf(waiter.bytes);
      waiter.bytes -= bytes;
      // A piece may exceed the tokens left: the balance turns negative, and the next piece waits until it is not.
      if (rate > 0) tokens -= bytes;
      if (waiter.isContent === "with all" && waiter.bytes > 0) continue;
      waiting.remove(waiter);
      waiter.pass(bytes);
    }
    isServing = false;
  };
  return {
    get bytesPerSecond() {
      return rate;
    },
    get isHolding() {
      if (rate <= 0) return false;
      if (waiting.length > 0) return true;
      refill();
      return tokens < 0;
    },
    lane: ({ isOpen } = { isOpen: false }) => {
      const place = places++;
      let inUse = isOpen;
      let lastAt: number | null = null;
      const passed = () => {
        inUse = true;
        lastAt = clock.now();
      };
      const wait = (bytes: number, about: { isContent: Waiter["isContent"]; signal: AbortSignal }) => {
        const { isContent, signal } = about;
        throwIfAborted(signal);
        return new Promise<number>((resolve, reject) => {
          const patientUntil = inUse ? (lastAt ?? clock.now()) + PATIENCE_MS : Infinity;
          const stop = () => {
            waiting.remove(waiter);
            reject(reasonOf(signal));
          };
          const pass = (passing: number) => {
            signal.removeEventListener("abort", stop);
            passed();
            resolve(passing);
          };
          const waiter: Waiter = { place, bytes, isContent, patientUntil, pass };
          signal.addEventListener("abort", stop, { once: true });
          waiting.add(waiter);
          void serve();
        });
      };
      const tryTake = (bytes: number): number => {
        if (rate <= 0) {
          inUse = true;
          return bytes;
        }
        // Waiting lanes go first; otherwise the silent ones would starve.
        if (waiting.length > 0) return 0;
        refill();
        if (tokens < 0) return 0;
        const piece = pieceOf(bytes);
        tokens -= piece;
        passed();
        return piece;
      };
      return {
        tryTake,
        takeSome: async (bytes, signal) => tryTake(bytes) || (await wait(bytes, { isContent: "with some", signal })),
        take: async (bytes, signal) => {
          const left = bytes - tryTake(bytes);
          if (left > 0) await wait(left, { isContent: "with all", signal });
        },
      };
    },
    setRate: (next) => {
      refill();
      // Scales the debt down with the rate; otherwise it would block all lanes for long.
      if (next <= 0) tokens = 0;
      else if (next < rate) tokens *= next / rate;
      rate = next;
      sleeping?.abort();
    },
  };
}

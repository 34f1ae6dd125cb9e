import { reasonOf, throwIfAborted, type Clock } from "#worker/base/clock.ts";
import { createWaitingLine, type Waiter } from "./waiting-line.ts";

/**
 * An exact token bucket over all connections of one direction: in any stretch of time, at most the rate times that
 * stretch plus one small burst passes. Each part has a lane, and the lane opened first goes first: when the rate is what
 * limits, parts complete one after another instead of all at the same late moment, so a kill or a pause loses little.
 * Stores hang up on a connection that is silent in mid-request, so a lane in use gets a piece now and then all the same.
 *
 * Bytes are given in pieces of a fiftieth of a second, which keeps the rate even and every lane of many alive. Who can cut
 * what it has (an upload) takes piece by piece; who has the bytes already (a download) takes them whole and then rests.
 * Without a limit all of it is one comparison and no promise.
 */
export interface Limiter {
  /** A place in the line. `isOpen`: the connection is in use before its first byte passes here (a download). */
  lane(wants?: { isOpen: boolean }): Lane;
  /** Holds at once, also for those that wait. 0 lifts the limit. */
  setRate(bytesPerSecond: number): void;
  /** Present rate; 0 is no limit. */
  readonly bytesPerSecond: number;
  /** The limit is what bounds the rate just now, not the link: somebody waits, or all that may pass has passed. */
  readonly isHolding: boolean;
}

export interface Lane {
  /** How many of `bytes` may pass now; they are charged. All of them without a limit; 0: wait for them. Never waits. */
  tryTake(bytes: number): number;
  /** How many of `bytes` may pass, as soon as it is one. Faults: CANCELLED or the signal's own. */
  takeSome(bytes: number, signal: AbortSignal): Promise<number>;
  /** Resolves when all `bytes` may pass. Faults: CANCELLED or the signal's own. */
  take(bytes: number, signal: AbortSignal): Promise<void>;
}

/** For bytes that are there already: nothing when all of them may pass, which takes no promise. Faults: those of `take`. */
export function pay(lane: Lane, bytes: number, signal: AbortSignal): Promise<void> | undefined {
  const unpaid = bytes - lane.tryTake(bytes);
  return unpaid === 0 ? undefined : lane.take(unpaid, signal);
}

/** What may pass at once after a silence: small enough to be invisible in any few seconds. */
const IDLE_BURST_SECONDS = 0.1;
/** What is caught up when somebody waited and the timer came late: more would show as a burst. */
const LATE_BURST_SECONDS = 0.15;
/** One piece. 96 lanes take two seconds for a round of such pieces, whatever the rate. */
const SLICE_SECONDS = 0.02;
const LEAST_SLICE_BYTES = 512;
const MOST_SLICE_BYTES = 1024 * 1024;
/** Together with a round of 96 silent lanes it stays under five seconds. */
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
        // Woken early when the rate changes: what was slept for no longer holds.
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
      // A piece may be larger than what is there: it goes into debt, and the next one waits until that is paid.
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
        // Whoever waits goes first, or the silent ones would starve.
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
      // A debt was made at the old rate; at a lower one it would silence everybody for long.
      if (next <= 0) tokens = 0;
      else if (next < rate) tokens *= next / rate;
      rate = next;
      sleeping?.abort();
    },
  };
}

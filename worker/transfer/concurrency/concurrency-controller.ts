import type { TimerCoalescer } from "#worker/base/timer-coalescer.ts";
import type { Clock } from "#worker/base/clock.ts";
import type { Semaphore, Wants } from "./semaphore.ts";
import { stepSearch, startSearch, type SearchLimits } from "./concurrency-search.ts";
import type { HttpClient } from "../http/http-client.ts";
import { startLoad, weigh } from "./queue-delay-guard.ts";
import type { Meter } from "../progress/meter.ts";

/** Samples the transfer while bytes move, runs the concurrency search on each sample, and sets the width of the semaphore. */
export interface ConcurrencyController {
  /** Starts sampling, because a request is about to be made. */
  wake(): void;
  /**
   * Announces `count` requests. Calls `open` with the number of connections to open: at once, on each change of the width,
   * and on each RTT measurement, until the requests come. The number is the present width; for small files it is larger, even
   * before the capacity of the link is known.
   */
  expect(next: { count: number; size: Wants["size"] }, open: (width: number) => void): void;
  /** Tells the controller that an RTT was measured. */
  roundTrip(): void;
  /** Tells the controller that the store throttled a request. */
  throttled(): void;
  /** Returns the width and rate that the search settled on; null while it is still ramping up. */
  best(): { width: number; bytesPerSecond: number } | null;
  stop(): void;
}

const LOOK_EVERY_MS = 50;
/** Interval while no request waits for the semaphore: then there is nothing to decide. */
const REST_EVERY_MS = 250;
/** Sampling stops after this many samples in a row with nothing in flight. */
const MOST_EMPTY_LOOKS = 20;

/** Inputs and outputs of the controller. */
export interface ControllerParts {
  clock: Pick<Clock, "now">;
  coalescer: Pick<TimerCoalescer, "every">;
  semaphore: Semaphore;
  meter: Meter;
  httpClient: Pick<HttpClient, "rttMs" | "measureRtt">;
  /** `smallRamp`: value of `ramp` while all files are small. */
  limits: SearchLimits & { smallRamp: number };
  /** Returns whether a bandwidth limit bounds the rate at present; then the number of connections does not. */
  isHeld(): boolean;
  /** Returns the length of the longest part that would restart from zero when ended; null when there is none. */
  partBytes(): number | null;
  onWidth(width: number): void;
  /** Called when more parts are in flight than `width` allows: must end those that have moved least. */
  onTooMany(width: number): void;
}

export function createConcurrencyController(parts: ControllerParts): ConcurrencyController {
  const { clock, coalescer, semaphore, meter, limits } = parts;
  let state = startSearch(limits, clock.now());
  let stopLooking: (() => void) | null = null;
  let everyMs = LOOK_EVERY_MS;
  let load = startLoad(clock.now());
  let emptyLooks = 0;
  let isThrottled = false;
  let rttMs = Infinity;
  let presentRttMs: number | null = null;
  let isMeasuring = false;
  /** Connections opened in advance for announced small files; may exceed the width. */
  let ahead = 0;
  let expected: { count: number; size: Wants["size"]; open(width: number): void } | null = null;

  const stop = () => {
    stopLooking?.();
    stopLooking = null;
  };
  const lookEvery = (ms: number) => {
    if (stopLooking !== null && ms === everyMs) return;
    stop();
    everyMs = ms;
    stopLooking = coalescer.every(ms, look);
  };
  const measure = () => {
    if (isMeasuring || presentRttMs !== null) return;
    isMeasuring = true;
    void parts.httpClient.measureRtt().then((ms) => {
      isMeasuring = false;
      // The answer is dropped when nobody asks for it any more: a later question is about a later moment.
      presentRttMs = state.asksRtt || load.asksRtt ? (ms ?? Infinity) : null;
    });
  };
  const look = () => {
    emptyLooks = semaphore.held === 0 ? emptyLooks + 1 : 0;
    if (emptyLooks > MOST_EMPTY_LOOKS) {
      stop();
      return;
    }
    rttMs = Math.min(rttMs, parts.httpClient.rttMs() ?? Infinity);
    const sample = {
      at: clock.now(),
      bytes: meter.totalBytes,
      isHungry: !parts.isHeld() && (semaphore.waiting > 0 || (expected !== null && expected.count > semaphore.width)),
      rttMs: rttMs < Infinity ? rttMs : 0,
      presentRttMs,
      isThrottled,
    };
    isThrottled = false;
    // A small file mostly waits for a round trip: as many connections as fill the link with parts would leave it idle.
    const isSmall = semaphore.isAllSmall || semaphore.waitingSmall >= semaphore.width || expected?.size === "small";
    const ramp = isSmall ? limits.smallRamp : limits.ramp;
    const mostBefore = load.most;
    const answered = state.asksRtt || load.asksRtt ? presentRttMs : null;
    load = weigh(load, { ...sample, width: semaphore.held, partBytes: parts.partBytes(), presentRttMs: answered });
    state = stepSearch(
      state,
      { ...sample, presentRttMs: answered },
      { ...limits, ramp, most: Math.min(limits.most, load.most) },
    );
    if (answered !== null) presentRttMs = null;
    if (state.asksRtt || load.asksRtt) measure();
    const isBusy = sample.isHungry || semaphore.held === 0 || state.asksRtt || load.asksRtt;
    lookEvery(isBusy ? LOOK_EVERY_MS : REST_EVERY_MS);
    if (state.width === semaphore.width) return;
    // Connections are opened first: a request that the semaphore admits needs one at once.
    if (sample.isThrottled) ahead = 0;
    parts.onWidth(Math.max(ahead, state.width));
    semaphore.setWidth(state.width);
    if (load.most < mostBefore) parts.onTooMany(state.width);
    expected?.open(state.width);
  };
  const wake = () => {
    emptyLooks = 0;
    const isAwake = stopLooking !== null;
    lookEvery(LOOK_EVERY_MS);
    if (isAwake) return;
    // Deferred: the requests that called `wake` enter the queue of the semaphore in this turn of the event loop.
    setImmediate(look);
  };
  return {
    wake: () => {
      expected = null;
      wake();
    },
    expect: (next, open) => {
      expected = { ...next, open };
      // Each of many small files gets its own connection as soon as the link is known to be long. Opening these connections
      // now saves all of them the round trip of the handshake.
      if (next.size === "small") ahead = Math.min(next.count, limits.smallRamp, limits.most);
      if (ahead > semaphore.width) parts.onWidth(ahead);
      open(Math.max(ahead, semaphore.width));
      wake();
      if (parts.httpClient.rttMs() !== null) look();
    },
    roundTrip: () => {
      if (expected === null) return;
      look();
      // The listener may also act on the new RTT when the width has not changed.
      expected?.open(semaphore.width);
    },
    throttled: () => {
      isThrottled = true;
      look();
    },
    best: () =>
      state.phase === "ramp" || state.phase === "leap" || state.rate === 0
        ? null
        : { width: state.width, bytesPerSecond: state.rate },
    stop,
  };
}

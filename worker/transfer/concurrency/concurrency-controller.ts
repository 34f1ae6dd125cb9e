import type { Beats } from "#worker/base/timer-coalescer.ts";
import type { Clock } from "#worker/base/clock.ts";
import type { Gate, Wants } from "./semaphore.ts";
import { govern, startGovernor, type GovernorLimits } from "./concurrency-search.ts";
import type { Wire } from "../http/http-client.ts";
import { startLoad, weigh } from "./queue-delay-guard.ts";
import type { Meter } from "../progress/meter.ts";

/** Lets the governor look at the transfer while something moves, and sets the gate to the width it says. */
export interface Helm {
  /** Something wants to move: look at it from now on. */
  wake(): void;
  /**
   * So many requests come next. Opens connections for them, at once and whenever the width changes or a round trip is
   * measured until they come; as many as the link is worth where that is known, and for small files before it is.
   */
  expect(next: { count: number; size: Wants["size"] }, open: (width: number) => void): void;
  /** A round trip was measured. */
  roundTrip(): void;
  /** A store asked for less. */
  throttled(): void;
  /** What this transfer found to be best, once it has; null before. */
  best(): { width: number; bytesPerSecond: number } | null;
  stop(): void;
}

const LOOK_EVERY_MS = 50;
/** As long as nobody waits: then there is nothing to decide. */
const REST_EVERY_MS = 250;
/** Ends its own timer after so many looks at nothing. */
const MOST_EMPTY_LOOKS = 20;

/** What the controller looks at and sets. */
export interface HelmParts {
  clock: Pick<Clock, "now">;
  beats: Pick<Beats, "every">;
  gate: Gate;
  meter: Meter;
  wire: Pick<Wire, "rttMs" | "measureRtt">;
  /** `smallRamp`: the `ramp` of small files. */
  limits: GovernorLimits & { smallRamp: number };
  /** A bandwidth limit is what bounds the rate just now: then their number is not. */
  isHeld(): boolean;
  /** Length of the parts that would have to go again from their start; null when there are none. */
  partBytes(): number | null;
  onWidth(width: number): void;
  /** Fewer may move than do: ends some of those that have moved least. */
  onTooMany(width: number): void;
}

export function createHelm(parts: HelmParts): Helm {
  const { clock, beats, gate, meter, limits } = parts;
  let state = startGovernor(limits, clock.now());
  let stopLooking: (() => void) | null = null;
  let everyMs = LOOK_EVERY_MS;
  let load = startLoad(clock.now());
  let emptyLooks = 0;
  let isThrottled = false;
  let rttMs = Infinity;
  let presentRttMs: number | null = null;
  let isMeasuring = false;
  /** Connections that were opened before it was known whether so many will be used. */
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
    stopLooking = beats.every(ms, look);
  };
  const measure = () => {
    if (isMeasuring || presentRttMs !== null) return;
    isMeasuring = true;
    void parts.wire.measureRtt().then((ms) => {
      isMeasuring = false;
      // Who asked may have found something else meanwhile; the next question is about another moment.
      presentRttMs = state.asksRtt || load.asksRtt ? (ms ?? Infinity) : null;
    });
  };
  const look = () => {
    emptyLooks = gate.held === 0 ? emptyLooks + 1 : 0;
    if (emptyLooks > MOST_EMPTY_LOOKS) {
      stop();
      return;
    }
    rttMs = Math.min(rttMs, parts.wire.rttMs() ?? Infinity);
    const sample = {
      at: clock.now(),
      bytes: meter.totalBytes,
      isHungry: !parts.isHeld() && (gate.waiting > 0 || (expected !== null && expected.count > gate.width)),
      rttMs: rttMs < Infinity ? rttMs : 0,
      presentRttMs,
      isThrottled,
    };
    isThrottled = false;
    // A small file is mostly a round trip: what fills the link with parts leaves it idle with files.
    const isSmall = gate.isAllSmall || gate.waitingSmall >= gate.width || expected?.size === "small";
    const ramp = isSmall ? limits.smallRamp : limits.ramp;
    const mostBefore = load.most;
    const answered = state.asksRtt || load.asksRtt ? presentRttMs : null;
    load = weigh(load, { ...sample, width: gate.held, partBytes: parts.partBytes(), presentRttMs: answered });
    state = govern(
      state,
      { ...sample, presentRttMs: answered },
      { ...limits, ramp, most: Math.min(limits.most, load.most) },
    );
    if (answered !== null) presentRttMs = null;
    if (state.asksRtt || load.asksRtt) measure();
    const isBusy = sample.isHungry || gate.held === 0 || state.asksRtt || load.asksRtt;
    lookEvery(isBusy ? LOOK_EVERY_MS : REST_EVERY_MS);
    if (state.width === gate.width) return;
    // Connections first: who is let in wants one.
    if (sample.isThrottled) ahead = 0;
    parts.onWidth(Math.max(ahead, state.width));
    gate.setWidth(state.width);
    if (load.most < mostBefore) parts.onTooMany(state.width);
    expected?.open(state.width);
  };
  const wake = () => {
    emptyLooks = 0;
    const isAwake = stopLooking !== null;
    lookEvery(LOOK_EVERY_MS);
    if (isAwake) return;
    // Those that wait for the first places are in line in a moment.
    setImmediate(look);
  };
  return {
    wake: () => {
      expected = null;
      wake();
    },
    expect: (next, open) => {
      expected = { ...next, open };
      // Of many small files each has a connection of its own in a moment, as soon as the link is known to be long: a handshake
      // by then is a round trip less for all of them.
      if (next.size === "small") ahead = Math.min(next.count, limits.smallRamp, limits.most);
      if (ahead > gate.width) parts.onWidth(ahead);
      open(Math.max(ahead, gate.width));
      wake();
      if (parts.wire.rttMs() !== null) look();
    },
    roundTrip: () => {
      if (expected === null) return;
      look();
      // Who opens them may want to know of the round trip too.
      expected?.open(gate.width);
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

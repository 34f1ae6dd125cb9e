import { hasQueue } from "./queue-delay-guard.ts";

/**
 * State of the search for the best number of connections of one direction (hill climbing). Its phases:
 * - `ramp`: starts with a few connections and doubles them with each window that brings more. New connections are slow at
 * first, and together they fill a long link sooner.
 * - `grown`, `leap`: goes to the most connections, which helps only where packet loss holds each of them down. Needs
 * connections that had time to grow, and an RTT that shows no standing queue.
 * - `steady`, `trial`: tries a few more or fewer now and then and keeps the faster width, or the smaller of two equally fast
 * ones. Connections cost the training program CPU, and other users of the link bandwidth.
 * - `recover`: a store that throttles halves the width at once; it then grows by one per window.
 *
 * Pure: a state and a sample give the next state, so tests need no clock.
 */
export interface SearchState {
  readonly width: number;
  readonly phase: "ramp" | "grown" | "leap" | "steady" | "trial" | "recover";
  /** Start of the present window, ms. */
  readonly windowAt: number;
  readonly windowBytes: number;
  /** Best rate seen while ramping; the rate to beat in a trial. Bytes per second. */
  readonly rate: number;
  /** Consecutive windows without a gain. */
  readonly flat: number;
  /** Best rate in phase `grown`. A rate below `DROP` of it triggers another look for a queue. */
  readonly peak: number;
  /** Windows in phase `grown` in which the search looked for a standing queue, or could have. */
  readonly looks: number;
  /** Width before the trial. */
  readonly widthBefore: number;
  /** A new width is judged only after this time. */
  readonly settledAt: number;
  readonly nextTrialAt: number;
  readonly trialEveryMs: number;
  readonly lastTrial: "more" | "less";
  /** Upper bound of the width until `ceilingUntil`, because the store throttled above it. */
  readonly ceiling: number;
  readonly ceilingUntil: number;
  readonly throttledAt: number;
  /** An RTT should be measured. One far above the minimum shows a standing queue, so the link is full. */
  readonly asksRtt: boolean;
}

export interface SearchSample {
  /** Milliseconds, monotonic. */
  at: number;
  /** Bytes moved since the beginning. */
  bytes: number;
  /** More requests are waiting than connections can serve. */
  isHungry: boolean;
  /** Minimum RTT of this link, ms; 0 while unknown. */
  rttMs: number;
  /** RTT measured because the state asked for it; null without a new measurement, Infinity when it failed. */
  presentRttMs: number | null;
  isThrottled: boolean;
}

export interface SearchLimits {
  first: number;
  /** Width that fills any link without packet loss. */
  ramp: number;
  /** Upper bound; may shrink during the transfer. */
  most: number;
}

/** A window counts as a gain when its rate exceeds the best earlier one by this factor. */
const RAMP_GAIN = 1.1;
const FLAT_WINDOWS = 4;
/** From this RTT on, each doubling costs as much time as it saves: the width goes to `ramp` in one step. */
const LONG_RTT_MS = 30;
const LEAP_RTT_MS = 15;
/**
 * Many slow starts at once fill the queue even of a lossy link. So the search looks for a queue again when the rate falls
 * below `DROP` of its peak, in at most `MOST_LOOKS` windows.
 */
const DROP = 0.85;
const MOST_LOOKS = 6;
/** A leap that gained this much is accepted without waiting for `settledAt`. */
const LEAP_GAIN = 1.2;
/** A trial of more connections must gain this factor; one of fewer must keep at least `LESS_COST` of the rate. */
const MORE_GAIN = 1.05;
const LESS_COST = 0.98;
const LEAST_TRIED = 8;
const TRIAL_EVERY_MS = 20_000;
const SOON_MS = 4_000;
const LONGEST_TRIAL_EVERY_MS = 120_000;
const CEILING_MS = 15_000;
const THROTTLE_PAUSE_MS = 1_000;

export const startSearch = (limits: SearchLimits, at: number): SearchState => ({
  width: Math.max(1, Math.min(limits.first, limits.most)),
  phase: "ramp",
  windowAt: at,
  windowBytes: 0,
  rate: 0,
  flat: 0,
  peak: 0,
  looks: 0,
  widthBefore: limits.first,
  settledAt: 0,
  nextTrialAt: 0,
  trialEveryMs: TRIAL_EVERY_MS,
  lastTrial: "more",
  ceiling: limits.most,
  ceilingUntil: 0,
  throttledAt: -Infinity,
  asksRtt: false,
});

/** Returns how long a rate is measured before the search acts on it, ms. */
function windowMs(state: SearchState, { rttMs }: SearchSample): number {
  switch (state.phase) {
    case "ramp":
      return Math.min(400, Math.max(100, rttMs));
    case "grown":
    case "leap":
      return Math.min(1_500, Math.max(250, 4 * rttMs));
    case "recover":
      return THROTTLE_PAUSE_MS;
    case "steady":
    case "trial":
      return Math.max(2_000, 10 * rttMs);
  }
}

/** Returns the state after a sample. Called a few times per window; most calls change nothing. */
export function stepSearch(state: SearchState, sample: SearchSample, limits: SearchLimits): SearchState {
  if (sample.isThrottled && sample.at - state.throttledAt >= THROTTLE_PAUSE_MS) return throttled(state, sample);
  const ramp = Math.min(limits.most, limits.ramp);
  if (state.width > limits.most) {
    const { at, bytes } = sample;
    return rest({ ...state, width: limits.most, windowAt: at, windowBytes: bytes }, { rate: state.rate, at });
  }
  if (state.phase === "ramp" && sample.isHungry && sample.rttMs >= LONG_RTT_MS && state.width < ramp) {
    return { ...state, width: ramp };
  }
  // Nothing has moved yet: the first window begins with the first byte.
  if (state.windowBytes === 0 && state.rate === 0 && state.phase === "ramp" && sample.bytes === 0) {
    return { ...state, windowAt: sample.at };
  }
  const most = sample.at < state.ceilingUntil ? Math.min(limits.most, state.ceiling) : limits.most;
  const { presentRttMs } = sample;
  if (state.phase === "grown" && state.asksRtt && presentRttMs !== null) {
    return leapWhenEmpty(state, { presentRttMs, most, sample });
  }
  const spanMs = sample.at - state.windowAt;
  if (spanMs < windowMs(state, sample)) return state;
  const rate = ((sample.bytes - state.windowBytes) * 1000) / spanMs;
  const next = { ...state, windowAt: sample.at, windowBytes: sample.bytes };
  // With nothing waiting, more connections would only stand idle, and a low rate says nothing about their number.
  if (!sample.isHungry && state.phase !== "leap") return next;
  switch (state.phase) {
    case "ramp":
      return climb(next, { rate, most: Math.min(most, ramp), sample });
    case "grown":
      return askWhenGrown(next, { rate, most, sample });
    case "leap":
      return landLeap(next, { rate, sample });
    case "recover":
      return recover(next, { rate, most, at: sample.at });
    case "steady":
      return steady(next, { rate, most, sample });
    case "trial":
      return judge(next, { rate, at: sample.at });
  }
}

function throttled(state: SearchState, sample: SearchSample): SearchState {
  // A second refusal within the recovery window means that the store refuses everything. This says nothing about the present
  // width.
  const isSameStorm = state.phase === "recover" && state.windowAt === state.throttledAt;
  return {
    ...state,
    phase: "recover",
    width: Math.max(1, Math.floor(state.width / 2)),
    ...(isSameStorm
      ? {}
      : { ceiling: Math.max(1, Math.floor(state.width * 0.9)), ceilingUntil: sample.at + CEILING_MS }),
    asksRtt: false,
    throttledAt: sample.at,
    windowAt: sample.at,
    windowBytes: sample.bytes,
  };
}

const rest = (state: SearchState, about: { rate: number; at: number }): SearchState => ({
  ...state,
  phase: "steady",
  asksRtt: false,
  rate: about.rate,
  flat: 0,
  nextTrialAt: about.at + state.trialEveryMs,
});

interface Seen {
  rate: number;
  most: number;
  sample: SearchSample;
}

/** Judges a window of phase `ramp`. `most`: width at which the ramp ends. */
function climb(state: SearchState, { rate, most, sample }: Seen): SearchState {
  if (rate < state.rate * RAMP_GAIN) {
    const flat = state.flat + 1;
    return flat < FLAT_WINDOWS ? { ...state, flat } : rest(state, { rate: Math.max(rate, state.rate), at: sample.at });
  }
  const width = Math.min(most, state.width * 2);
  if (width < most) return { ...state, rate, flat: 0, width };
  return { ...state, rate, flat: 0, width, phase: "grown", settledAt: sample.at + timeToGrow(sample) };
}

/** Returns the time that new connections need for handshake and slow start, ms. */
const timeToGrow = ({ rttMs }: SearchSample): number => Math.min(4_000, Math.max(300, 8 * rttMs));

function askWhenGrown(state: SearchState, { rate, most, sample }: Seen): SearchState {
  if (state.asksRtt) return state;
  if (sample.at < state.settledAt) return { ...state, rate };
  // With a short RTT a few connections recover from losses as fast as many.
  if (state.width >= most || sample.rttMs < LEAP_RTT_MS) return rest(state, { rate, at: sample.at });
  // While the rate still grows, the effect of more connections cannot be told from that of more time.
  if (rate >= state.rate * RAMP_GAIN) return { ...state, rate, peak: Math.max(state.peak, rate) };
  if (state.looks >= MOST_LOOKS) return rest(state, { rate, at: sample.at });
  const peak = Math.max(state.peak, state.rate, rate);
  const isToLook = state.looks === 0 || rate < peak * DROP;
  return isToLook ? { ...state, rate, peak, asksRtt: true } : { ...state, rate, peak, looks: state.looks + 1 };
}

/**
 * Leaps to `most` connections when no queue stands. A standing queue shows a full link; packet loss leaves the queue empty.
 */
function leapWhenEmpty(
  state: SearchState,
  about: { presentRttMs: number; most: number; sample: SearchSample },
): SearchState {
  const { presentRttMs, most, sample } = about;
  // No request waits any more, so the answer about the queue comes too late.
  if (!sample.isHungry) return { ...state, asksRtt: false };
  const next = { ...state, asksRtt: false, looks: state.looks + 1 };
  if (!Number.isFinite(presentRttMs)) return rest(next, { rate: state.rate, at: sample.at });
  if (hasQueue(presentRttMs, sample.rttMs)) return next;
  return { ...next, phase: "leap", width: most, settledAt: sample.at + timeToGrow(sample) };
}

function landLeap(state: SearchState, { rate, sample }: Omit<Seen, "most">): SearchState {
  if (rate < state.rate * LEAP_GAIN && sample.at < state.settledAt) return state;
  // The width is kept even without a gain: with fewer connections, those left would keep the small TCP windows they had among
  // many. But fewer are tried soon. On a full link whose RTT cannot show it, or with a slow store, extra connections cost CPU
  // in vain.
  const next = rest(state, { rate, at: sample.at });
  return rate < state.rate * MORE_GAIN ? { ...next, nextTrialAt: sample.at + SOON_MS } : next;
}

function recover(state: SearchState, about: { rate: number; most: number; at: number }): SearchState {
  return state.width < about.most ? { ...state, width: state.width + 1 } : rest(state, about);
}

function steady(state: SearchState, { rate, most, sample }: Seen): SearchState {
  const smoothed = state.rate * 0.5 + rate * 0.5;
  if (sample.at < state.nextTrialAt) {
    return { ...state, rate: smoothed };
  }
  const wantsLess = (state.lastTrial === "more" || state.width >= most) && state.width > LEAST_TRIED;
  const width = wantsLess ? Math.ceil(state.width * 0.75) : Math.min(most, Math.ceil(state.width * 1.4));
  if (width === state.width)
    return { ...rest(state, { rate: smoothed, at: sample.at }), lastTrial: wantsLess ? "less" : "more" };
  return {
    ...state,
    phase: "trial",
    rate: smoothed,
    widthBefore: state.width,
    width,
    lastTrial: wantsLess ? "less" : "more",
    settledAt: sample.at + Math.max(1_500, 8 * sample.rttMs),
  };
}

function judge(state: SearchState, about: { rate: number; at: number }): SearchState {
  const { rate, at } = about;
  // A window that includes the change of width says nothing about the new width.
  if (at < state.settledAt) return state;
  const isBetter = rate >= state.rate * (state.width > state.widthBefore ? MORE_GAIN : LESS_COST);
  const trialEveryMs = isBetter ? TRIAL_EVERY_MS : Math.min(LONGEST_TRIAL_EVERY_MS, state.trialEveryMs * 2);
  const width = isBetter ? state.width : state.widthBefore;
  return rest({ ...state, width, trialEveryMs }, { rate: isBetter ? rate : state.rate, at });
}

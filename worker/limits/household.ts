/**
 * Leaves the people at home their internet. A transfer that takes all of a home link fills the queue of the modem, and
 * every click of everybody else waits behind it. This watches how much longer a handshake takes than on the idle link,
 * and keeps our rate where the queue stays short: a cut when it is long, a gentle balance around the target, a quick way
 * back when it is empty (as LEDBAT does, by rate instead of window). What it gives way to need not be on this machine.
 *
 * Pure: a state and a sample make the next state. Rates are bytes per second, times milliseconds of a clock that only
 * goes up.
 */
export interface HouseholdState {
  /** What we may take; null is all. */
  rate: number | null;
  /** Least round trip and most payload of each of the last minutes. */
  minutes: readonly { minute: number; leastRttMs: number; mostBytesPerSecond: number }[];
  /** Latest round trip, to tell a queue from a single late answer. */
  lastRttMs: number | null;
  smoothedRttMs: number | null;
  /** Payload rates of the last seconds. */
  recent: readonly { atMs: number; bytes: number; spanMs: number }[];
  lastCutAtMs: number;
  /** Rate at which the queue began to grow the last time: the way back is quick up to there. */
  peak: number;
  isInflated: boolean;
  /** The share left to others is a share of the best seen, so now and then that has to be seen again. */
  measuringUntilMs: number;
  /** Half the rate until then: a queue that never empties would soon pass for the idle link. */
  drainingUntilMs: number;
}

export interface HouseholdSample {
  atMs: number;
  /** Of a fresh handshake; null when there was no answer. */
  rttMs: number | null;
  /** Our bytes in the `spanMs` before. */
  movedBytes: number;
  spanMs: number;
}

export const HOUSEHOLD_START: HouseholdState = {
  rate: null,
  minutes: [],
  lastRttMs: null,
  smoothedRttMs: null,
  recent: [],
  lastCutAtMs: -Infinity,
  peak: 0,
  isInflated: false,
  measuringUntilMs: -Infinity,
  drainingUntilMs: 0,
};

const MINUTE_MS = 60_000;
const REMEMBERED_MINUTES = 10;
const RECENT_MS = 5_000;
const LEAST_RATE = 64_000;
const LEAST_SHARE_OF_BEST = 0.05;
/** More than this over the idle link is a queue that people feel. */
const LEAST_INFLATION_MS = 15;
const INFLATION_SHARE = 0.5;
const MOST_TARGET_MS = 20;
/** A cut shows only after the queue, and what the kernel holds already, has drained. */
const HOLD_MS = 2_000;
/** Without a cut for so long, whoever was there has gone. */
const CALM_MS = 8_000;
/** Within the time that is remembered, so that the idle link is always known. */
const DRAIN_EVERY_MS = 4 * MINUTE_MS;
const DRAIN_MS = 2_500;
const MEASURE_EVERY_MS = 5 * MINUTE_MS;
const MEASURE_MS = 15_000;

/** `shareForOthers`: 0 to 0.95 of the best rate seen that is never taken. */
export function stepHousehold(before: HouseholdState, sample: HouseholdSample, shareForOthers: number): HouseholdState {
  const { atMs, rttMs } = sample;
  const seen = remember(before, sample);
  if (rttMs === null) return seen;
  // One late answer is no queue: the lesser of two counts.
  const steady = Math.min(rttMs, before.lastRttMs ?? rttMs);
  const smoothedRttMs = before.smoothedRttMs === null ? steady : 0.4 * before.smoothedRttMs + 0.6 * steady;
  const isFalling = steady < 0.9 * (before.smoothedRttMs ?? steady);
  const next = { ...seen, lastRttMs: rttMs, smoothedRttMs };
  // While nothing of ours moves the queue is not ours, and nothing can be learned about what we may take.
  return keepShare(sample.movedBytes > 0 ? steer(next, { ...sample, isFalling }) : next, atMs, shareForOthers);
}

/** What may be taken now; null is all. */
export function rateOfHousehold(state: HouseholdState, atMs: number): number | null {
  return state.rate !== null && atMs < state.drainingUntilMs ? state.rate / 2 : state.rate;
}

/** Round trip of the idle link: the least of the last ten minutes, ms. */
export function baseRttOf(state: HouseholdState): number | null {
  const least = Math.min(...state.minutes.map(({ leastRttMs }) => leastRttMs));
  return Number.isFinite(least) ? least : null;
}

const bestOf = (state: HouseholdState): number =>
  Math.max(0, ...state.minutes.map(({ mostBytesPerSecond }) => mostBytesPerSecond));

/** Payload per second over the last `overMs`. */
function rateOver(state: HouseholdState, atMs: number, overMs: number): number {
  return rateOf(state.recent.filter((slot) => atMs - slot.atMs < overMs));
}

function rateOf(slots: HouseholdState["recent"]): number {
  const span = slots.reduce((sum, slot) => sum + slot.spanMs, 0);
  return span === 0 ? 0 : (slots.reduce((sum, slot) => sum + slot.bytes, 0) * 1000) / span;
}

function remember(state: HouseholdState, sample: HouseholdSample): HouseholdState {
  const { atMs, rttMs, movedBytes, spanMs } = sample;
  const slot = { atMs, bytes: movedBytes, spanMs };
  const recent = [
    ...state.recent.filter((one) => atMs - one.atMs < RECENT_MS),
    ...(movedBytes > 0 && spanMs > 0 ? [slot] : []),
  ];
  // The lesser half: a burst that only filled a queue or the kernel's buffers was no rate of the link.
  const halves = [recent.slice(0, recent.length / 2), recent.slice(recent.length / 2)];
  const isWhole = recent.reduce((sum, one) => sum + one.spanMs, 0) >= RECENT_MS * 0.7;
  const rate = isWhole ? Math.min(...halves.map(rateOf)) : 0;
  const minute = Math.floor(atMs / MINUTE_MS);
  const known = state.minutes.find((one) => one.minute === minute);
  const now = {
    minute,
    leastRttMs: Math.min(known?.leastRttMs ?? Infinity, rttMs ?? Infinity),
    mostBytesPerSecond: Math.max(known?.mostBytesPerSecond ?? 0, rate),
  };
  const minutes = [
    ...state.minutes.filter((one) => one.minute !== minute && minute - one.minute < REMEMBERED_MINUTES),
    now,
  ];
  return { ...state, recent, minutes };
}

function steer(state: HouseholdState, now: HouseholdSample & { isFalling: boolean }): HouseholdState {
  const { atMs, spanMs } = now;
  const base = baseRttOf(state) ?? 0;
  const queueMs = (state.smoothedRttMs ?? base) - base;
  const mostMs = Math.max(LEAST_INFLATION_MS, base * INFLATION_SHARE);
  const targetMs = Math.min(MOST_TARGET_MS, mostMs * 0.8);
  const measured = rateOver(state, atMs, 2 * HOLD_MS);
  const floor = Math.max(LEAST_RATE, bestOf(state) * LEAST_SHARE_OF_BEST);
  if (queueMs > mostMs) {
    // What drains already needs no other cut.
    if (now.isFalling || atMs - state.lastCutAtMs < Math.max(HOLD_MS, 2 * (state.smoothedRttMs ?? 0))) return state;
    const from = Math.min(state.rate ?? Infinity, measured);
    // The longer the queue, the deeper: it has to drain as well.
    const drain = Math.min(0.85, Math.max(0.5, 1 - queueMs / (HOLD_MS / 2)));
    // What was measured without a rate of ours went into the kernel's buffers as well, and they have to drain too.
    const cut = state.rate === null ? Math.min(0.65, drain) : drain;
    const peak = state.isInflated ? state.peak : from;
    return { ...state, rate: Math.max(floor, from * cut), peak, isInflated: true, lastCutAtMs: atMs };
  }
  const isInflated = state.isInflated && queueMs > targetMs;
  const { rate } = state;
  if (rate === null) return { ...state, isInflated };
  if (atMs < state.drainingUntilMs) return state;
  if (atMs - state.drainingUntilMs > DRAIN_EVERY_MS) return { ...state, drainingUntilMs: atMs + DRAIN_MS };
  // Who does not take what is allowed learns nothing about more.
  const isUsed = measured >= 0.7 * rate;
  const seconds = Math.min(2, spanMs / 1000);
  const room = 1 - queueMs / targetMs;
  const known = atMs - state.lastCutAtMs > CALM_MS ? bestOf(state) : state.peak;
  const isFar = queueMs < targetMs / 2 && rate < 0.8 * known;
  const isQuick = known === state.peak || rate < 0.5 * state.peak;
  const growth = isFar ? (isQuick ? 0.12 : 0.06) : room * (room > 0 ? 0.02 : 0.05);
  if (growth > 0 && !isUsed) return { ...state, isInflated };
  return { ...state, isInflated, rate: Math.max(floor, rate * (1 + Math.max(-0.1, growth) * seconds)) };
}

/** Never more than what is left of the best rate seen; every few minutes that is measured again. */
function keepShare(state: HouseholdState, atMs: number, shareForOthers: number): HouseholdState {
  if (shareForOthers <= 0) return state;
  if (atMs - state.measuringUntilMs > MEASURE_EVERY_MS) return { ...state, measuringUntilMs: atMs + MEASURE_MS };
  const best = bestOf(state);
  if (atMs < state.measuringUntilMs || best === 0) return state;
  const most = Math.max(LEAST_RATE, best * (1 - shareForOthers));
  return { ...state, rate: Math.min(state.rate ?? Infinity, most) };
}

/**
 * Congestion control of household mode, which leaves a home link usable for other people. A transfer that takes the whole
 * link fills the modem's queue, and all other traffic waits behind it. The controller compares the time of a TCP handshake
 * with that on the idle link. A long queue cuts the rate, around the target the rate changes gently, and with an empty
 * queue it recovers quickly (as in LEDBAT, RFC 6817, but by rate instead of window). The other traffic may come from other
 * machines.
 *
 * Pure: a state and a sample make the next state. Rates are bytes per second, times are monotonic milliseconds.
 */
export interface HouseholdState {
  /** Allowed rate; null is no limit. */
  rate: number | null;
  /** Lowest RTT and highest payload rate of each of the last minutes. */
  minutes: readonly { minute: number; leastRttMs: number; mostBytesPerSecond: number }[];
  /** Latest RTT, to tell a queue from a single late answer. */
  lastRttMs: number | null;
  smoothedRttMs: number | null;
  /** Payload rates of the last seconds. */
  recent: readonly { atMs: number; bytes: number; spanMs: number }[];
  lastCutAtMs: number;
  /** Rate at which the queue last began to grow; recovery is quick up to that rate. */
  peak: number;
  isInflated: boolean;
  /** Until then the share for others is not enforced, so that the best rate, on which it is based, is measured again. */
  measuringUntilMs: number;
  /** Until then the rate is halved to empty the queue; otherwise a standing queue would soon count as the idle link. */
  drainingUntilMs: number;
}

export interface HouseholdSample {
  atMs: number;
  /** Time of a new TCP handshake; null when there was no answer. */
  rttMs: number | null;
  /** Bytes that this process moved in the last `spanMs`. */
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
/** RTT above that of the idle link from which a queue is noticeable to people. */
const LEAST_INFLATION_MS = 15;
const INFLATION_SHARE = 0.5;
const MOST_TARGET_MS = 20;
/** Time until a cut takes effect: the queue and the kernel's send buffers have to drain first. */
const HOLD_MS = 2_000;
/** Time without a cut after which the competing traffic is assumed to have ended. */
const CALM_MS = 8_000;
/** Shorter than the remembered time, so that an RTT of the idle link is always known. */
const DRAIN_EVERY_MS = 4 * MINUTE_MS;
const DRAIN_MS = 2_500;
const MEASURE_EVERY_MS = 5 * MINUTE_MS;
const MEASURE_MS = 15_000;

/** Returns the state after a sample. `shareForOthers`: share of the best rate seen that is never taken, 0 to 0.95. */
export function stepHousehold(before: HouseholdState, sample: HouseholdSample, shareForOthers: number): HouseholdState {
  const { atMs, rttMs } = sample;
  const seen = remember(before, sample);
  if (rttMs === null) return seen;
  // A single late answer is no queue, so the lower of the last two counts.
  const steady = Math.min(rttMs, before.lastRttMs ?? rttMs);
  const smoothedRttMs = before.smoothedRttMs === null ? steady : 0.4 * before.smoothedRttMs + 0.6 * steady;
  const isFalling = steady < 0.9 * (before.smoothedRttMs ?? steady);
  const next = { ...seen, lastRttMs: rttMs, smoothedRttMs };
  // While this process moves nothing, a queue is not its own, and tells nothing about its rate.
  return keepShare(sample.movedBytes > 0 ? steer(next, { ...sample, isFalling }) : next, atMs, shareForOthers);
}

/** Returns the rate allowed now; null is no limit. */
export function rateOfHousehold(state: HouseholdState, atMs: number): number | null {
  return state.rate !== null && atMs < state.drainingUntilMs ? state.rate / 2 : state.rate;
}

/** Returns the RTT of the idle link: the lowest of the last ten minutes, ms; null while unknown. */
export function baseRttOf(state: HouseholdState): number | null {
  const least = Math.min(...state.minutes.map(({ leastRttMs }) => leastRttMs));
  return Number.isFinite(least) ? least : null;
}

const bestOf = (state: HouseholdState): number =>
  Math.max(0, ...state.minutes.map(({ mostBytesPerSecond }) => mostBytesPerSecond));

/** Returns the payload rate over the last `overMs`. */
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
  // Takes the lower rate of two halves: a burst that only filled a queue or the kernel's buffers is no rate of the link.
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
    // A queue that is already draining needs no further cut.
    if (now.isFalling || atMs - state.lastCutAtMs < Math.max(HOLD_MS, 2 * (state.smoothedRttMs ?? 0))) return state;
    const from = Math.min(state.rate ?? Infinity, measured);
    // A longer queue needs a deeper cut, because the queue has to drain too.
    const drain = Math.min(0.85, Math.max(0.5, 1 - queueMs / (HOLD_MS / 2)));
    // A rate measured without a limit includes bytes that filled the kernel's buffers, which have to drain too.
    const cut = state.rate === null ? Math.min(0.65, drain) : drain;
    const peak = state.isInflated ? state.peak : from;
    return { ...state, rate: Math.max(floor, from * cut), peak, isInflated: true, lastCutAtMs: atMs };
  }
  const isInflated = state.isInflated && queueMs > targetMs;
  const { rate } = state;
  if (rate === null) return { ...state, isInflated };
  if (atMs < state.drainingUntilMs) return state;
  if (atMs - state.drainingUntilMs > DRAIN_EVERY_MS) return { ...state, drainingUntilMs: atMs + DRAIN_MS };
  // If the transfer does not use the allowed rate, an empty queue does not mean that a higher rate is safe.
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

/** Limits the rate to the best rate seen minus the share for others. The best rate is measured again every few minutes. */
function keepShare(state: HouseholdState, atMs: number, shareForOthers: number): HouseholdState {
  if (shareForOthers <= 0) return state;
  if (atMs - state.measuringUntilMs > MEASURE_EVERY_MS) return { ...state, measuringUntilMs: atMs + MEASURE_MS };
  const best = bestOf(state);
  if (atMs < state.measuringUntilMs || best === 0) return state;
  const most = Math.max(LEAST_RATE, best * (1 - shareForOthers));
  return { ...state, rate: Math.min(state.rate ?? Infinity, most) };
}

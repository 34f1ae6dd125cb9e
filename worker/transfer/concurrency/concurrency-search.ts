import { hasQueue } from "./queue-delay-guard.ts";

/**
 * How many connections a direction uses. It starts with a few and doubles with every round trip that brings more: new
 * connections are slow at first, and together they fill a long link sooner. More than a few dozen are only worth it where
 * each is held down by losses, so that step is only taken after the connections before it had their time to grow, and
 * where a round trip shows no standing queue. Later it tries a few more or less now and then, and stays with what is
 * fastest, and of two that are equally fast with the fewer: connections cost the training program CPU, and the
 * neighbours on the link their turn. A store that throttles halves it at once; it comes back one by one.
 *
 * Pure: a state and a sample give the next state, so every rule can be tested without a clock.
 */
export interface GovernorState {
  readonly width: number;
  readonly phase: "ramp" | "grown" | "leap" | "steady" | "trial" | "recover";
  /** Where the present window began. */
  readonly windowAt: number;
  readonly windowBytes: number;
  /** Best rate seen while ramping; the rate to beat in a trial. Bytes per second. */
  readonly rate: number;
  /** Windows in a row that brought nothing. */
  readonly flat: number;
  /** The best rate of those windows: what less is measured against. */
  readonly peak: number;
  /** How often it was seen, or could have been looked at, that a queue stands. */
  readonly looks: number;
  /** Width before the trial. */
  readonly widthBefore: number;
  /** A trial is judged only after this. */
  readonly settledAt: number;
  readonly nextTrialAt: number;
  readonly trialEveryMs: number;
  readonly lastTrial: "more" | "less";
  /** Not above this until then: a store throttled there. */
  readonly ceiling: number;
  readonly ceilingUntil: number;
  readonly throttledAt: number;
  /** A round trip should be measured: far above the least one a queue is full, so the link is. */
  readonly asksRtt: boolean;
}

export interface GovernorSample {
  /** Milliseconds, only going up. */
  at: number;
  /** Bytes moved since the beginning. */
  bytes: number;
  /** There is more to do than connections to do it. */
  isHungry: boolean;
  /** The least one of this link. */
  rttMs: number;
  /** Measured just now because the state asked for it; null otherwise. */
  presentRttMs: number | null;
  isThrottled: boolean;
}

export interface GovernorLimits {
  first: number;
  /** What fills any link without losses. */
  ramp: number;
  /** May become less while it runs. */
  most: number;
}

/** A window has to bring this much more than the best one before it. */
const RAMP_GAIN = 1.1;
const FLAT_WINDOWS = 4;
/** On a link this long each doubling would cost as much time as it saves: it takes one step, as soon as that is known. */
const LONG_RTT_MS = 30;
const LEAP_RTT_MS = 15;
/**
 * Many slow starts at once fill the queue even of a link that loses packets. So it is looked at again when less arrives than
 * this share of what did, for so many windows.
 */
const DROP = 0.85;
const MOST_LOOKS = 6;
/** When the step to the most connections has brought this much, it need not be waited for any longer. */
const LEAP_GAIN = 1.2;
/** A trial of more connections has to bring this much; one of fewer may cost at most this. */
const MORE_GAIN = 1.05;
const LESS_COST = 0.98;
const LEAST_TRIED = 8;
const TRIAL_EVERY_MS = 20_000;
const SOON_MS = 4_000;
const LONGEST_TRIAL_EVERY_MS = 120_000;
const CEILING_MS = 15_000;
const THROTTLE_PAUSE_MS = 1_000;

export const startGovernor = (limits: GovernorLimits, at: number): GovernorState => ({
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

/** How long a rate is measured before anything is made of it. */
function windowMs(state: GovernorState, { rttMs }: GovernorSample): number {
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

/** The state after a sample. Called a few times per window; most calls change nothing. */
export function govern(state: GovernorState, sample: GovernorSample, limits: GovernorLimits): GovernorState {
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

function throttled(state: GovernorState, sample: GovernorSample): GovernorState {
  // Refused again before a window has passed in peace, it refuses everything: that says nothing about this width.
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

const rest = (state: GovernorState, about: { rate: number; at: number }): GovernorState => ({
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
  sample: GovernorSample;
}

/** `most`: the end of the ramp. */
function climb(state: GovernorState, { rate, most, sample }: Seen): GovernorState {
  if (rate < state.rate * RAMP_GAIN) {
    const flat = state.flat + 1;
    return flat < FLAT_WINDOWS ? { ...state, flat } : rest(state, { rate: Math.max(rate, state.rate), at: sample.at });
  }
  const width = Math.min(most, state.width * 2);
  if (width < most) return { ...state, rate, flat: 0, width };
  return { ...state, rate, flat: 0, width, phase: "grown", settledAt: sample.at + timeToGrow(sample) };
}

/** Slow start of new connections, the handshake included. */
const timeToGrow = ({ rttMs }: GovernorSample): number => Math.min(4_000, Math.max(300, 8 * rttMs));

function askWhenGrown(state: GovernorState, { rate, most, sample }: Seen): GovernorState {
  if (state.asksRtt) return state;
  if (sample.at < state.settledAt) return { ...state, rate };
  // On a short link a few connections make up for losses as fast as many.
  if (state.width >= most || sample.rttMs < LEAP_RTT_MS) return rest(state, { rate, at: sample.at });
  // As long as the rate still grows by itself, more connections could not be told from more time.
  if (rate >= state.rate * RAMP_GAIN) return { ...state, rate, peak: Math.max(state.peak, rate) };
  if (state.looks >= MOST_LOOKS) return rest(state, { rate, at: sample.at });
  const peak = Math.max(state.peak, state.rate, rate);
  const isToLook = state.looks === 0 || rate < peak * DROP;
  return isToLook ? { ...state, rate, peak, asksRtt: true } : { ...state, rate, peak, looks: state.looks + 1 };
}

/** A standing queue says that the link is full; losses leave it empty. */
function leapWhenEmpty(
  state: GovernorState,
  about: { presentRttMs: number; most: number; sample: GovernorSample },
): GovernorState {
  const { presentRttMs, most, sample } = about;
  // Nobody waits any more: what is told of the queue is told too late.
  if (!sample.isHungry) return { ...state, asksRtt: false };
  const next = { ...state, asksRtt: false, looks: state.looks + 1 };
  if (!Number.isFinite(presentRttMs)) return rest(next, { rate: state.rate, at: sample.at });
  if (hasQueue(presentRttMs, sample.rttMs)) return next;
  return { ...next, phase: "leap", width: most, settledAt: sample.at + timeToGrow(sample) };
}

function landLeap(state: GovernorState, { rate, sample }: Omit<Seen, "most">): GovernorState {
  if (rate < state.rate * LEAP_GAIN && sample.at < state.settledAt) return state;
  // Kept also when it brought nothing: those that stay would go on with the small windows they had among many. But fewer are tried
  // soon then: where the link is full and no handshake can tell, or the store is slow, they cost CPU for nothing.
  const next = rest(state, { rate, at: sample.at });
  return rate < state.rate * MORE_GAIN ? { ...next, nextTrialAt: sample.at + SOON_MS } : next;
}

function recover(state: GovernorState, about: { rate: number; most: number; at: number }): GovernorState {
  return state.width < about.most ? { ...state, width: state.width + 1 } : rest(state, about);
}

function steady(state: GovernorState, { rate, most, sample }: Seen): GovernorState {
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

function judge(state: GovernorState, about: { rate: number; at: number }): GovernorState {
  const { rate, at } = about;
  // The window that holds the change itself tells nothing.
  if (at < state.settledAt) return state;
  const isBetter = rate >= state.rate * (state.width > state.widthBefore ? MORE_GAIN : LESS_COST);
  const trialEveryMs = isBetter ? TRIAL_EVERY_MS : Math.min(LONGEST_TRIAL_EVERY_MS, state.trialEveryMs * 2);
  const width = isBetter ? state.width : state.widthBefore;
  return rest({ ...state, width, trialEveryMs }, { rate: isBetter ? rate : state.rate, at });
}

/**
 * One of the last parts of an upload, which rate allocation lets end at the same time. Connections share a link unfairly: one
 * that lost packets in its first second lags for ten more. So a few parts arrive seconds after all others, and the link is
 * idle meanwhile. When all connections are paced slightly below the link's capacity, its queue drains and round trips become
 * short. Then those behind become as fast as those ahead, and each gets the rate at which it ends together with the rest.
 *
 * The functions here are pure: a state and a sample give the next state.
 */
export interface TailPart {
  leftBytes: number;
  /** Recent rate, bytes per second. */
  rate: number;
  /** The part could have used a higher rate than it was given. */
  wasHeld: boolean;
}

/** No part is slowed down below this share of the mean rate. */
const LEAST_SHARE = 0.4;
/** A part that reaches this share of its target rate counts as reaching it. */
export const ABLE_SHARE = 0.9;

/**
 * Returns the pace of each part in bytes per second; Infinity means no limit. A part that cannot use its share leaves the
 * rest of it to the others, unless a queue stands: then the queue limits the part and has to drain first.
 */
export function pacesFor(
  all: readonly TailPart[],
  about: { bytesPerSecond: number; isQueued: boolean },
): readonly number[] {
  const paces = all.map(() => Infinity);
  let able = all.map((one, index) => ({ ...one, index })).filter(({ leftBytes }) => leftBytes > 0);
  const least = (LEAST_SHARE * about.bytesPerSecond) / Math.max(1, able.length);
  let budget = about.bytesPerSecond;
  for (;;) {
    const left = able.reduce((sum, { leftBytes }) => sum + leftBytes, 0);
    const shareOf = ({ leftBytes }: TailPart) => (leftBytes * budget) / left;
    const isUnable = (one: TailPart) => !about.isQueued && !one.wasHeld && one.rate < shareOf(one) * ABLE_SHARE;
    const unable = new Set(able.filter(isUnable));
    if (unable.size === 0) {
      for (const one of able) paces[one.index] = Math.max(shareOf(one), least);
      return paces;
    }
    for (const { rate } of unable) budget -= rate;
    able = able.filter((one) => !unable.has(one));
  }
}

export interface LinkRate {
  /**
   * `draining`: socket buffers and the link's queue empty first. `drained`: enough was held back, but round trips do not show
   * it yet. `level`: parts are paced at the link's capacity. `given up`: other traffic fills the link.
   */
  readonly phase: "draining" | "drained" | "level" | "given up";
  /** Whether all sockets pace themselves, so that no bytes pile up in buffers. */
  readonly isPaced: boolean;
  /** Estimated capacity of the link in bytes per second: at present, and when it was first found or last corrected. */
  readonly carries: number;
  readonly first: number;
  /** Samples since the capacity was found or last corrected; number of corrections. */
  readonly looks: number;
  readonly corrections: number;
  /** Rate that the very first sample showed. */
  readonly firstSeen: number;
  /** Estimated bytes that are still in socket buffers. */
  readonly buffered: number;
  /** Time in ms since which a queue has been standing that other traffic may cause; null without a queue. */
  readonly queuedAt: number | null;
  readonly at: number;
}

export interface LinkSample {
  /** Milliseconds, monotonic. */
  at: number;
  /** Recent rate of all parts, bytes per second. */
  rate: number;
  /** Median rate between the last samples, bytes per second; 0 when no socket reports any. */
  usualRate: number;
  /** Present RTT, ms; null when it could not be measured. */
  presentRttMs: number | null;
  /** Minimum RTT of this link, ms. */
  rttMs: number;
}

/** Target of the queueing delay, as a share of the minimum RTT: a link without any queue may not be full. */
const TARGET_QUEUE = 0.08;
const LONG_QUEUE = 0.2;
const DRAINING_LEAST = 0.65;
const DRAINED_SHARE = 0.7;
const LEVEL_LEAST = 0.9;
const LEVEL_MOST = 1.01;
/** The estimated capacity never falls below this share of its first value. */
const LEAST_OF_FIRST = 0.85;
const GROWTH = 1.01;
/**
 * Retransmitted bytes arrive together with all that waited behind them, so the first sample may exceed the capacity. While a
 * queue stands, the rate equals the capacity and may replace the estimate. This takes `CORRECTED_AFTER` samples and happens
 * at most `MOST_CORRECTIONS` times, because other traffic on the link looks the same.
 */
const CORRECTED_AFTER = 3;
const MOST_CORRECTIONS = 2;
const CLEARLY_LESS = 0.98;
/**
 * A rate below this share of the first sample is not the capacity: the link stalls for a moment, or other traffic fills it.
 */
const LEAST_BELIEVED = 0.7;
/** The recent and the usual rate count as equal within this share: the rate is not changing. */
const AGREED = 0.05;
/** A queue that stands this long is caused by other traffic. */
const FOREIGN_MS = 4_000;
/** Bytes that the kernel buffers for one connection before sending them. */
const BUFFER_BYTES = 256 * 1024;

/**
 * Returns the first state. `rate`: total rate without pacing. `counted`: number of parts that get their bytes from the pacer.
 */
export const startLinkRate = (about: { at: number; rate: number; counted: number; rttMs: number }): LinkRate => ({
  phase: "draining",
  isPaced: about.counted === 0,
  carries: about.rate,
  first: about.rate,
  looks: 0,
  corrections: 0,
  firstSeen: about.rate,
  buffered: about.counted * BUFFER_BYTES + (about.rate * about.rttMs) / 1000,
  queuedAt: null,
  at: about.at,
});

/** Returns the queueing delay as a share of the minimum RTT; null when the RTT is unknown. */
const queueOf = ({ presentRttMs, rttMs }: LinkSample): number | null =>
  presentRttMs === null ? null : Math.max(0, (presentRttMs - rttMs - 2) / Math.max(1, rttMs));

/**
 * Returns the share of the capacity to send while the queue drains. If all sockets pace themselves, the queue should be
 * nearly empty at the next sample. Holding back more would leave the link idle.
 */
function drainingShare({ isPaced, at }: LinkRate, sample: LinkSample): number {
  const queue = queueOf(sample) ?? 0;
  if (!isPaced) return 1 - (queue - LONG_QUEUE) / 2;
  return 1 - ((queue - TARGET_QUEUE) * sample.rttMs * DRAINED_SHARE) / Math.max(1, sample.at - at);
}

/** Returns the next state, how many bytes per second may be sent, and whether a queue stands. */
export function steer(
  state: LinkRate,
  sample: LinkSample,
): { state: LinkRate; bytesPerSecond: number; isQueued: boolean } {
  const { at, rate } = sample;
  const queue = queueOf(sample);
  const isQueued = queue !== null && queue > LONG_QUEUE;
  const passedMs = at - state.at;
  if (state.phase === "given up") return { state: { ...state, at }, bytesPerSecond: Infinity, isQueued };
  if (state.phase === "drained")
    return { state: { ...state, at, phase: "level" }, bytesPerSecond: state.carries, isQueued };
  if (state.phase === "draining") {
    const share = queue === null ? 1 : Math.min(1, Math.max(DRAINING_LEAST, drainingShare(state, sample)));
    const bytesPerSecond = state.carries * share;
    const buffered = state.buffered - ((state.carries - bytesPerSecond) * passedMs) / 1000;
    if (state.isPaced) return { state: { ...state, at, phase: "drained" }, bytesPerSecond, isQueued };
    const isDrained = (queue !== null && !isQueued) || buffered <= 0;
    return { state: { ...state, at, buffered, phase: isDrained ? "level" : "draining" }, bytesPerSecond, isQueued };
  }
  const seen = Math.max(rate, sample.usualRate);
  const isLess =
    isQueued &&
    Math.abs(rate - sample.usualRate) <= sample.usualRate * AGREED &&
    seen >= state.firstSeen * LEAST_BELIEVED &&
    state.looks >= CORRECTED_AFTER &&
    state.corrections < MOST_CORRECTIONS &&
    seen < state.carries * CLEARLY_LESS;
  if (isLess) {
    const corrections = state.corrections + 1;
    // These parts caused the queue, so the time of a foreign queue starts again.
    const found = { carries: seen, first: seen, looks: 0, corrections, queuedAt: at };
    return { state: { ...state, ...found, at }, bytesPerSecond: seen * LEVEL_LEAST, isQueued };
  }
  const share =
    queue === null ? 1 : Math.min(LEVEL_MOST, Math.max(LEVEL_LEAST, LEVEL_MOST - (queue - TARGET_QUEUE) / 5));
  const isIdle = queue !== null && queue < TARGET_QUEUE / 2 && rate >= state.carries * ABLE_SHARE;
  const drift = isIdle ? GROWTH : 1 + (share - 1) / 10;
  const carries = Math.max(state.first * LEAST_OF_FIRST, state.carries * drift);
  const queuedAt = isQueued ? (state.queuedAt ?? at) : null;
  const isForeign = queuedAt !== null && at - queuedAt >= FOREIGN_MS;
  const looks = state.looks + 1;
  const next: LinkRate = { ...state, at, carries, looks, queuedAt, phase: isForeign ? "given up" : "level" };
  return { state: next, bytesPerSecond: isForeign ? Infinity : carries * share, isQueued };
}

/**
 * How the last parts of an upload come to their end at the same time. Connections that share a link share it badly: what one of
 * them lost in its first second it lacks for ten more, so that a few arrive seconds after all others and the link stands empty
 * meanwhile. Where all of them are driven a little below what the link carries, its queue drains, every round trip becomes
 * as short as it can be, and those behind become as fast as those ahead. Then each is given the rate at which it ends
 * together with the rest.
 *
 * Pure, as the governor is.
 */
export interface Sailing {
  leftBytes: number;
  /** Bytes per second, lately. */
  rate: number;
  /** It would have taken more than it was given. */
  wasHeld: boolean;
}

/** None is slowed down below this share of the mean. */
const LEAST_SHARE = 0.4;
/** Nearer to its share than this is as good as there. */
export const ABLE_SHARE = 0.9;

/**
 * Bytes per second for each; Infinity: as many as it can. Who cannot take its share leaves the rest of it to the others, unless
 * a queue stands: then it is the queue that holds it back, and it has to drain first.
 */
export function pacesFor(
  all: readonly Sailing[],
  about: { bytesPerSecond: number; isQueued: boolean },
): readonly number[] {
  const paces = all.map(() => Infinity);
  let able = all.map((one, index) => ({ ...one, index })).filter(({ leftBytes }) => leftBytes > 0);
  const least = (LEAST_SHARE * about.bytesPerSecond) / Math.max(1, able.length);
  let budget = about.bytesPerSecond;
  for (;;) {
    const left = able.reduce((sum, { leftBytes }) => sum + leftBytes, 0);
    const shareOf = ({ leftBytes }: Sailing) => (leftBytes * budget) / left;
    const isUnable = (one: Sailing) => !about.isQueued && !one.wasHeld && one.rate < shareOf(one) * ABLE_SHARE;
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
   * `draining`: what lies in buffers and in the link's queue goes first. `drained`: so much was held back as should do, and
   * round trips do not tell of it yet. `given up`: others fill the link.
   */
  readonly phase: "draining" | "drained" | "level" | "given up";
  /** Nothing lies in buffers: sockets keep to their pace by themselves. */
  readonly isPaced: boolean;
  /** What the link carries, bytes per second, and what it seemed to carry first. */
  readonly carries: number;
  readonly first: number;
  /** Looks since it was found, or found to be less; how often that was. */
  readonly looks: number;
  readonly corrections: number;
  /** What the very first look saw. */
  readonly firstSeen: number;
  /** Of what may lie in buffers, how much has not gone yet. */
  readonly buffered: number;
  /** Since when, ms, a queue has been standing that nobody here feeds; null: there is none. */
  readonly queuedAt: number | null;
  readonly at: number;
}

export interface LinkSample {
  /** Milliseconds, only going up. */
  at: number;
  /** Moved lately, bytes per second. */
  rate: number;
  /** What usually arrived between the last looks, bytes per second; 0: nobody tells. */
  usualRate: number;
  /** A round trip just now; null: it could not be told. */
  presentRttMs: number | null;
  /** The least one of this link. */
  rttMs: number;
}

/** So much longer than the least one a round trip may be, as a share of it: a link without any queue may not be full. */
const WISHED_QUEUE = 0.08;
const LONG_QUEUE = 0.2;
const DRAINING_LEAST = 0.65;
const DRAINED_SHARE = 0.7;
const LEVEL_LEAST = 0.9;
const LEVEL_MOST = 1.01;
/** What the first look may have been wrong by. */
const LEAST_OF_FIRST = 0.85;
const GROWTH = 1.01;
/**
 * What was lost arrives with all that waited behind it, so the first look may see much more than the link carries. Behind a queue what
 * arrives is what it carries: then that is believed, after so many looks and so often. Others who fill the link look the same.
 */
const CORRECTED_AFTER = 3;
const MOST_CORRECTIONS = 2;
const CLEARLY_LESS = 0.98;
/** Less than this share of the first look is a link that stands still for a moment, or one that others fill. */
const LEAST_BELIEVED = 0.7;
/** What arrived lately and what usually does are the same: it is not changing just now. */
const AGREED = 0.05;
/** A queue that stands for so long is fed by others. */
const FOREIGN_MS = 4_000;
/** What the system takes from a program for a connection before it has gone out. */
const BUFFER_BYTES = 256 * 1024;

/** `rate`: as fast as connections went by themselves. `counted`: how many of them have their bytes counted out. */
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

const queueOf = ({ presentRttMs, rttMs }: LinkSample): number | null =>
  presentRttMs === null ? null : Math.max(0, (presentRttMs - rttMs - 2) / Math.max(1, rttMs));

/**
 * Where only the queue has to go, it goes until the next look, nearly: what is given too little is lost, for an empty queue means
 * an idle link.
 */
function drainingShare({ isPaced, at }: LinkRate, sample: LinkSample): number {
  const queue = queueOf(sample) ?? 0;
  if (!isPaced) return 1 - (queue - LONG_QUEUE) / 2;
  return 1 - ((queue - WISHED_QUEUE) * sample.rttMs * DRAINED_SHARE) / Math.max(1, sample.at - at);
}

/** The next state, how many bytes per second may go out, and whether a queue stands. */
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
    // The queue was our doing.
    const found = { carries: seen, first: seen, looks: 0, corrections, queuedAt: at };
    return { state: { ...state, ...found, at }, bytesPerSecond: seen * LEVEL_LEAST, isQueued };
  }
  const share =
    queue === null ? 1 : Math.min(LEVEL_MOST, Math.max(LEVEL_LEAST, LEVEL_MOST - (queue - WISHED_QUEUE) / 5));
  const isIdle = queue !== null && queue < WISHED_QUEUE / 2 && rate >= state.carries * ABLE_SHARE;
  const drift = isIdle ? GROWTH : 1 + (share - 1) / 10;
  const carries = Math.max(state.first * LEAST_OF_FIRST, state.carries * drift);
  const queuedAt = isQueued ? (state.queuedAt ?? at) : null;
  const isForeign = queuedAt !== null && at - queuedAt >= FOREIGN_MS;
  const looks = state.looks + 1;
  const next: LinkRate = { ...state, at, carries, looks, queuedAt, phase: isForeign ? "given up" : "level" };
  return { state: next, bytesPerSecond: isForeign ? Infinity : carries * share, isQueued };
}

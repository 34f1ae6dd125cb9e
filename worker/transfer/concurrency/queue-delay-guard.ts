/**
 * State of the guard that limits how many parts a slow link carries in parallel. On a fast link many connections do no harm.
 * On a slow one each gets so little that a part takes minutes, and a kill loses every unacknowledged part. So the guard
 * allows fewer parts when one would take longer than `LONGEST_SECONDS` and a standing queue shows that the link is slow. New
 * connections cause a queue for a moment, too. If the queue then vanishes, losses hold the remaining parts down, and one more
 * may run.
 *
 * Pure: a state and a sample give the next state.
 */
export interface Load {
  /** Most parts in parallel; Infinity without a limit. */
  readonly most: number;
  readonly windowAt: number;
  /** Null before the first byte. */
  readonly windowBytes: number | null;
  /** The window before this one was too slow already. An interruption of the link causes one such window, not two. */
  readonly isSuspected: boolean;
  /** An RTT should be measured, to decide whether to end some parts or to let in one more. */
  readonly asksRtt: boolean;
  /** Rate of the last window, bytes per second. */
  readonly rate: number;
  /** The guard looks for room for one more part only after this time; each time without room doubles the interval. */
  readonly nextRoomAt: number;
  readonly roomEveryMs: number;
}

export interface LoadSample {
  /** Milliseconds, monotonic. */
  at: number;
  /** Bytes moved since the beginning. */
  bytes: number;
  /** Number of parts in flight. */
  width: number;
  /** Length of the parts; null when ending one of them loses nothing. */
  partBytes: number | null;
  /** Minimum RTT of this link, ms. */
  rttMs: number;
  /** RTT measured because the state asked for it; null without a new measurement, Infinity when it failed. */
  presentRttMs: number | null;
}

const TARGET_SECONDS = 30;
const LONGEST_SECONDS = 60;
/** Fewer parts would leave the link idle between one part and the next. */
const LEAST = 4;
/** With fewer parts none is ended: the bytes lost with it would outweigh what it takes from the others. */
const LEAST_CUT = 7;
const WINDOW_MS = 2_000;
const WINDOW_ROUND_TRIPS = 10;
const MOST_ROOM_EVERY_MS = 60_000;

export const startLoad = (at: number): Load => ({
  most: Infinity,
  windowAt: at,
  windowBytes: null,
  isSuspected: false,
  asksRtt: false,
  rate: 0,
  nextRoomAt: 0,
  roomEveryMs: WINDOW_MS,
});

/** Returns whether a queue stands: the RTT is clearly longer than the minimum. */
export const hasQueue = (presentRttMs: number, rttMs: number): boolean =>
  Number.isFinite(presentRttMs) && presentRttMs > rttMs * 1.2 + 3;

/** Returns the state after a sample. */
export function weigh(load: Load, sample: LoadSample): Load {
  const { at, bytes, width, partBytes, rttMs, presentRttMs } = sample;
  if (partBytes === null) return load.most === Infinity && !load.asksRtt ? load : startLoad(at);
  if (load.asksRtt) {
    if (presentRttMs === null) return load;
    const answered = { ...load, asksRtt: false, isSuspected: false };
    if (!hasQueue(presentRttMs, rttMs)) {
      const more = { ...sample, width: load.most + 1 };
      const hasRoom = Number.isFinite(presentRttMs) && width >= load.most && !isTooLong(more, load.rate);
      return hasRoom ? { ...answered, most: load.most + 1, roomEveryMs: WINDOW_MS } : askLater(answered, at);
    }
    if (!isTooLong(sample, load.rate)) return askLater(answered, at);
    if (load.isSuspected) return { ...answered, most: fitting(load.rate, partBytes) };
    return { ...answered, isSuspected: true, windowAt: at, windowBytes: bytes };
  }
  if (load.windowBytes === null) return bytes === 0 ? load : { ...load, windowAt: at, windowBytes: bytes };
  const spanMs = at - load.windowAt;
  if (spanMs < Math.max(WINDOW_MS, WINDOW_ROUND_TRIPS * rttMs)) return load;
  const rate = ((bytes - load.windowBytes) * 1000) / spanMs;
  const next = { ...load, windowAt: at, windowBytes: bytes, rate };
  // A link that carries nothing at all is down, not slow.
  if (rate === 0) return next;
  const fits = fitting(rate, partBytes);
  if (fits > load.most) return { ...next, most: fits };
  const tooLong = isTooLong(sample, rate);
  const asksRtt = tooLong || (width >= load.most && at >= load.nextRoomAt);
  return { ...next, asksRtt, isSuspected: tooLong && load.isSuspected };
}

/** Doubles the time to the next look for room: on a link that stays full each look wastes a handshake. */
const askLater = (load: Load, at: number): Load => ({
  ...load,
  nextRoomAt: at + load.roomEveryMs,
  roomEveryMs: Math.min(MOST_ROOM_EVERY_MS, load.roomEveryMs * 2),
});

const isTooLong = ({ width, partBytes }: LoadSample, rate: number): boolean =>
  width >= LEAST_CUT && (width * (partBytes ?? 0)) / rate > LONGEST_SECONDS;

const fitting = (rate: number, partBytes: number): number =>
  Math.max(LEAST, Math.floor((rate * TARGET_SECONDS) / partBytes));

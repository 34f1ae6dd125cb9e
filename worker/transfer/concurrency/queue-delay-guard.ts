/**
 * How many parts a slow link can carry side by side. On a fast link many connections are never too many; on a slow one
 * each gets so little that a part takes minutes, and whatever was not acknowledged when the process is killed has to go
 * again. So where a part would take longer than `LONGEST_SECONDS`, and a standing queue shows that it is the link that is
 * slow and not each connection, fewer parts are sent at a time. A queue is there for a moment where connections begin, too: when
 * it is gone with those that are left, losses hold them down, and there is room for one more.
 *
 * Pure, as the governor is.
 */
export interface Load {
  /** The most parts at a time; Infinity while nothing speaks against any number. */
  readonly most: number;
  readonly windowAt: number;
  /** Null before the first byte. */
  readonly windowBytes: number | null;
  /** The window before this one was too slow already. After an interruption of the link one is, two are not. */
  readonly isSuspected: boolean;
  /** A round trip should be measured: to end some, or to let one more come. */
  readonly asksRtt: boolean;
  /** Of the last window, bytes per second. */
  readonly rate: number;
  /** Whether one more may come is asked not before then, and the less often the more often there was no room. */
  readonly nextRoomAt: number;
  readonly roomEveryMs: number;
}

export interface LoadSample {
  /** Milliseconds, only going up. */
  at: number;
  /** Bytes moved since the beginning. */
  bytes: number;
  /** How many parts move. */
  width: number;
  /** Their length; null where nothing is lost when one of them is cut. */
  partBytes: number | null;
  /** The least one of this link. */
  rttMs: number;
  /** Measured just now because the state asked for it; null otherwise, Infinity when that could not be told. */
  presentRttMs: number | null;
}

const WISHED_SECONDS = 30;
const LONGEST_SECONDS = 60;
/** Fewer than this would leave the link idle between one part and the next. */
const LEAST = 4;
/** Of fewer none is cut: what is lost with it is more than what it keeps the others from. */
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

/** A queue stands where a round trip takes this much longer than the least one. */
export const hasQueue = (presentRttMs: number, rttMs: number): boolean =>
  Number.isFinite(presentRttMs) && presentRttMs > rttMs * 1.2 + 3;

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

/** On a link that stays full every question is a handshake for nothing. */
const askLater = (load: Load, at: number): Load => ({
  ...load,
  nextRoomAt: at + load.roomEveryMs,
  roomEveryMs: Math.min(MOST_ROOM_EVERY_MS, load.roomEveryMs * 2),
});

const isTooLong = ({ width, partBytes }: LoadSample, rate: number): boolean =>
  width >= LEAST_CUT && (width * (partBytes ?? 0)) / rate > LONGEST_SECONDS;

const fitting = (rate: number, partBytes: number): number =>
  Math.max(LEAST, Math.floor((rate * WISHED_SECONDS) / partBytes));

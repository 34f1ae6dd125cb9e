import { ABLE_SHARE, pacesFor, startLinkRate, steer, type LinkRate } from "./rate-allocation.ts";
import type { Clock } from "#worker/base/clock.ts";
import type { PacedSocket, Told, Wire } from "../http/http-client.ts";

/** Gives the parts of the last round of an upload their bytes so that they arrive together: see `rate-allocation.ts`. */
export interface Convoy {
  /** A part begins to go out. */
  join(lengthBytes: number): Place;
  /** Its parts are driven at what the link carries: it is full, though no queue stands. */
  readonly isDriving: boolean;
}

export interface Place {
  /**
   * How many of `bytes` may go now. 0: none yet; then `goOn` is called, once, when it may ask again and will get some. Who
   * has left is not called any more.
   */
  take(bytes: number, goOn: () => void): number;
  /** It goes out by this socket. True: which keeps to a rate by itself: then all may always go. */
  begins(socket: PacedSocket): boolean;
  /** The system has them; negative when they come again. */
  moved(bytes: number): void;
  leave(): void;
}

/** In round trips. What is given at a tick goes out at once, so all of it together must be small beside the queue of a link. */
const TICK = { roundTrips: 0.25, leastMs: 8, mostMs: 75 };
/** After which one is given bytes again. */
const TURN = { roundTrips: 0.5, leastMs: 25, mostMs: 75 };
/** Fewer have next to nothing to gain. */
const LEAST_MEMBERS = 8;
/** Nearer stores are reached before anything could be learned. */
const LEAST_RTT_MS = 10;
/** In round trips, and within these bounds. */
const REVIEW = { roundTrips: 2, leastMs: 100, mostMs: 250 };
/** Once the rate is known and sockets keep to theirs by themselves. */
const LEVEL_REVIEW = { roundTrips: 2, leastMs: 200, mostMs: 500 };
const SETTLE = { roundTrips: 16, leastMs: 500, mostMs: 2_000 };
const WINDOW = { roundTrips: 16, leastMs: 600, mostMs: 2_000 };
/** Where sockets tell what has arrived, a little later than it did, but exactly. */
const TOLD_WINDOW = { roundTrips: 5, leastMs: 250, mostMs: 1_200 };
/** Given at a time: small enough that what many take at once does not overflow the queue of a link. */
const GRANT_BYTES = 32 * 1024;
/**
 * What a paced one gets at a tick, near by. Most of it goes out as the store acknowledges what went before, so that it neither
 * bursts nor keeps us busy; who gets so much waits longer for its next turn.
 */
const PIECE_BYTES = 96 * 1024;
/** A socket is told of nothing less. */
const LEAST_CHANGE = 0.03;
/** Below this a rate is guessed from too little. */
const WINDOW_GRANTS = 4;
/** Nor is one believed that is less than this share of what usually arrived between the last reviews: the link stood still meanwhile. */
const BELIEVED_SHARE = 0.8;
const REMEMBERED_REVIEWS = 8;
const USUAL_REVIEWS = 5;
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** What may be given grows with time, and is never more than two ticks' worth and a piece. */
const gather = (
  bytes: number,
  { rate, passedMs, tickMs }: { rate: number; passedMs: number; tickMs: number },
): number => Math.min(bytes + (rate * passedMs) / 1000, GRANT_BYTES + (rate * tickMs * 2) / 1000);
const within = ({ roundTrips, leastMs, mostMs }: typeof REVIEW, rttMs: number): number =>
  Math.min(mostMs, Math.max(leastMs, roundTrips * rttMs));
/** Where the store is further away, more at a time and not as often: a piece costs the same CPU whatever its size. */
const pieceBytes = (rttMs: number): number => Math.floor((PIECE_BYTES * within(TURN, rttMs)) / TURN.leastMs);

interface Member {
  lengthBytes: number;
  /** Null: its bytes are counted out. */
  socket: PacedSocket | null;
  /** By this socket, before it began. */
  ackedBefore: number;
  movedBytes: number;
  /** Moved bytes at the last reviews. */
  seen: { at: number; bytes: number }[];
  pace: number;
  tokens: number;
  wasHeld: boolean;
  /** Given, and not asked for again yet. */
  granted: number;
  waiting: { bytes: number; goOn(): void } | null;
}

/** `isLast`: nothing waits for one of these parts to end. */
export function createConvoy(parts: {
  clock: Pick<Clock, "now" | "random">;
  wire: Pick<Wire, "measureRtt" | "rttMs">;
  isLast(): boolean;
}): Convoy {
  const { clock, wire } = parts;
  const members = new Set<Member>();
  let timer: NodeJS.Timeout | null = null;
  let joinedAt = 0;
  let tickedAt = 0;
  let reviewedAt = 0;
  let link: LinkRate | null = null;
  let isClose = false;
  /** Bytes per second that sockets told of at the last reviews, together. */
  let lately: readonly number[] = [];
  /** What may be given to all of those whose bytes are counted. */
  let budget = 0;
  let isProbing = false;
  /** The last two, so that one that was late by chance does not count. */
  let probes: readonly [number | null, number | null] = [null, null];

  /** Whose bytes are counted gets them at the ticks only. */
  const freeFor = (one: Member): number =>
    !isClose || one.socket !== null ? Infinity : one.pace === Infinity ? GRANT_BYTES : 0;
  const serve = (one: Member, most: number): number => {
    if (one.waiting === null) return 0;
    const bytes = Math.min(one.waiting.bytes, most);
    const { goOn } = one.waiting;
    one.waiting = null;
    one.granted = bytes;
    goOn();
    return bytes;
  };
  const probe = () => {
    if (isProbing) return;
    isProbing = true;
    void wire.measureRtt(1).then((ms) => {
      isProbing = false;
      probes = [probes[1], ms];
    });
  };
  const probed = (): number | null => {
    const told = probes.filter((ms) => ms !== null);
    return told.length === 0 ? null : Math.min(...told);
  };
  const rateOf = ({ seen, movedBytes }: Member, now: number): number => {
    const [first] = seen;
    return first === undefined || first.at >= now ? 0 : ((movedBytes - first.bytes) * 1000) / (now - first.at);
  };
  const setPace = (one: Member, pace: number) => {
    const isNew =
      Math.abs(pace - one.pace) > one.pace * LEAST_CHANGE || (pace === Infinity) !== (one.pace === Infinity);
    if (one.socket !== null && !isNew) return;
    one.pace = pace;
    one.socket?.pace(pace);
  };
  const release = () => {
    link = null;
    for (const one of members) setPace(one, Infinity);
  };
  /** What sockets tell: how far each is, and the shortest of their round trips, now and ever; null when none tells. */
  const ask = (passedMs: number): { presentRttMs: number; rttMs: number } | null => {
    const trips: Told[] = [];
    let arrivedBytes = 0;
    for (const one of members) {
      const told = one.socket?.told() ?? null;
      if (told === null) continue;
      const movedBytes = told.ackedBytes - one.ackedBefore;
      arrivedBytes += movedBytes - one.movedBytes;
      one.movedBytes = movedBytes;
      if (told.rttMs > 0) trips.push(told);
    }
    if (trips.length === 0) return null;
    lately = [...lately.slice(1 - REMEMBERED_REVIEWS), (arrivedBytes * 1000) / Math.max(1, passedMs)];
    return {
      presentRttMs: Math.min(...trips.map(({ rttMs }) => rttMs)),
      rttMs: Math.min(...trips.map(({ leastRttMs }) => leastRttMs)),
    };
  };
  const review = (now: number, passedMs: number) => {
    const rttMs = wire.rttMs() ?? 0;
    isClose = parts.isLast() && members.size >= LEAST_MEMBERS && rttMs >= LEAST_RTT_MS;
    const told = ask(passedMs);
    const windowMs = within(told === null ? WINDOW : TOLD_WINDOW, rttMs);
    if (!isClose || now - joinedAt < within(SETTLE, rttMs)) {
      for (const one of members) one.seen = [];
      release();
      return;
    }
    let rate = 0;
    let windowBytes = 0;
    let spanMs = 0;
    for (const one of members) {
      one.seen = one.seen.filter(({ at }) => now - at <= windowMs);
      rate += rateOf(one, now);
      windowBytes += one.movedBytes - (one.seen[0]?.bytes ?? one.movedBytes);
      spanMs = Math.max(spanMs, now - (one.seen[0]?.at ?? now));
      one.seen.push({ at: now, bytes: one.movedBytes });
    }
    // Does not go up and down with one look at sockets that lost much, or caught up with it.
    const usualRate = told === null ? 0 : median(lately.slice(-USUAL_REVIEWS));
    if (told === null) probe();
    const counted = [...members].filter(({ socket }) => socket === null).length;
    if (link === null) {
      const leastBytes = told === null ? members.size * WINDOW_GRANTS * GRANT_BYTES : 0;
      const isEnough = spanMs > windowMs - 2 * within(REVIEW, rttMs) && windowBytes >= leastBytes;
      const isBelieved = told === null || (rate > 0 && rate >= BELIEVED_SHARE * median(lately));
      const found = told === null ? rate : usualRate;
      if (isEnough && isBelieved) link = startLinkRate({ at: now, rate: found, counted, rttMs });
      return;
    }
    const { state, bytesPerSecond, isQueued } = steer(link, {
      at: now,
      rate,
      usualRate,
      ...(told ?? { presentRttMs: probed(), rttMs }),
    });
    link = state;
    const sailing = [...members].map((one) => {
      const oneRate = rateOf(one, now);
      const wasHeld = one.socket === null ? one.wasHeld : oneRate >= one.pace * ABLE_SHARE;
      return { leftBytes: Math.max(0, one.lengthBytes - one.movedBytes), rate: oneRate, wasHeld };
    });
    const paces = bytesPerSecond === Infinity ? [] : pacesFor(sailing, { bytesPerSecond, isQueued });
    for (const [index, one] of [...members].entries()) {
      setPace(one, paces[index] ?? Infinity);
      one.wasHeld = false;
    }
  };
  const tick = () => {
    const now = clock.now();
    timer = null;
    if (members.size === 0) return;
    const sinceReviewMs = now - reviewedAt;
    const isToReview = sinceReviewMs >= within(reviewing(), wire.rttMs() ?? 0);
    if (isToReview) {
      reviewedAt = now;
      review(now, sinceReviewMs);
    }
    const passedMs = now - tickedAt;
    tickedAt = now;
    sleep();
    // A handshake shall not wait behind what is given now: it would see a queue that is gone until the next tick.
    if (isToReview) setImmediate(() => give(passedMs));
    else give(passedMs);
  };
  const reviewing = () => (link !== null && link.isPaced && link.phase === "level" ? LEVEL_REVIEW : REVIEW);
  const isCounting = () => isClose && [...members].some(({ socket }) => socket === null);
  const sleep = () => {
    timer = setTimeout(tick, within(isCounting() ? TICK : reviewing(), wire.rttMs() ?? 0)).unref();
  };
  const give = (passedMs: number) => {
    let together = 0;
    for (const one of members) {
      if (one.socket !== null) continue;
      if (one.pace === Infinity) {
        // Different for each, or all of them would be due in the same tick.
        one.tokens = clock.random() * GRANT_BYTES;
        serve(one, freeFor(one));
        continue;
      }
      one.wasHeld ||= one.waiting !== null;
      one.tokens = gather(one.tokens, { rate: one.pace, passedMs, tickMs: TICK.mostMs });
      together += one.pace;
    }
    budget = gather(budget, { rate: together, passedMs, tickMs: within(TICK, wire.rttMs() ?? 0) });
    // Who lags most goes first, and all together get no more at once than the link carries until the next tick.
    const due = [...members].filter((one) => one.pace < Infinity && one.waiting !== null && one.tokens > 0);
    const piece = pieceBytes(wire.rttMs() ?? 0);
    for (const one of due.toSorted((a, b) => b.tokens - a.tokens)) {
      if (budget <= 0) return;
      const bytes = serve(one, Math.max(piece, Math.floor(one.tokens)));
      one.tokens -= bytes;
      budget -= bytes;
    }
  };
  return {
    get isDriving() {
      return members.size > 0 && link !== null && link.phase !== "given up";
    },
    join: (lengthBytes) => {
      const me: Member = {
        lengthBytes,
        socket: null,
        ackedBefore: 0,
        movedBytes: 0,
        seen: [],
        pace: Infinity,
        tokens: 0,
        wasHeld: false,
        granted: 0,
        waiting: null,
      };
      members.add(me);
      joinedAt = clock.now();
      if (timer === null) {
        tickedAt = joinedAt;
        reviewedAt = joinedAt;
        sleep();
      }
      return {
        take: (bytes, goOn) => {
          const free = Math.min(bytes, Math.max(me.granted, freeFor(me)));
          me.granted = 0;
          if (free === 0) me.waiting = { bytes, goOn };
          return free;
        },
        begins: (socket) => {
          const told = socket.told();
          me.socket = told !== null && socket.pace(Infinity) ? socket : null;
          me.ackedBefore = told?.ackedBytes ?? 0;
          me.movedBytes = 0;
          me.seen = [];
          me.pace = Infinity;
          return me.socket !== null;
        },
        moved: (bytes) => {
          if (me.socket === null) me.movedBytes += bytes;
        },
        leave: () => {
          if (me.socket !== null) setPace(me, Infinity);
          members.delete(me);
          me.waiting = null;
        },
      };
    },
  };
}

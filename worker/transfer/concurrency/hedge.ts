import { Fault } from "#protocol/faults/fault.ts";
import type { Beats } from "#worker/base/timer-coalescer.ts";
import type { Clock } from "#worker/base/clock.ts";
import { createFlightMemory } from "./latency-estimator.ts";
import type { Gate } from "./semaphore.ts";
import type { LinkRoom } from "./spare-capacity.ts";
import type { Meter } from "../progress/meter.ts";
import { whenAborted } from "#worker/base/when-aborted.ts";

/**
 * The last seconds of an upload belong to its slowest part: one connection on a bad path, while all others stand idle.
 * Against that there are two means. A part that is far slower than those beside it is begun anew on another connection,
 * as long as little of it is gone: a connection that lost its first packets stays slow for longer than a part takes. And
 * when nothing is waiting any more, a part is sent a second time beside the first try: when it has been on its way far
 * longer than its siblings took, or when the link stands half empty and what is left of it would take longer than the
 * whole of it on that link. Whichever is acknowledged first counts, and the other is dropped.
 *
 * Both send bytes for nothing, so both need a link that has room for them: on a full one they take it from the rest. Only small
 * files are sent again without asking.
 */
export interface Hedges {
  /**
   * Runs `attempt`, and perhaps once more beside it. Resolves with the first success, when both have ended; rejects with
   * the first attempt's failure when neither succeeds.
   */
  run<T>(flight: Flight<T>): Promise<T>;
  /** Watches over a small file that moves by somebody else's doing. */
  follow(small: Followed): Following;
  /** Length of the longest on its way that may be shed; null when there is none. */
  lengthBytes(): number | null;
  /** Ends all but `width` of those on their way, the ones that have moved least: they reject with `SHED`. */
  shed(width: number): void;
}

/** It makes room for others, and has to start over when its turn comes again. */
export const SHED = new Fault("CANCELLED", { detail: "the link is too slow for so many parts at a time" });

export interface Flight<T> {
  signal: AbortSignal;
  /** Whether it may be sent twice at the same time. Asked when that would help. */
  mayRepeat(): boolean;
  /** All of a small file, not a part. */
  isSmall: boolean;
  /** To make room for others; otherwise whoever runs it need not know of that. */
  mayShed: boolean;
  /** Only flights of about the same length are compared with each other. */
  lengthBytes: number;
  /** Tells `onMoved` of every byte that went out. */
  attempt(about: { signal: AbortSignal; isHedge: boolean; onMoved(bytes: number): void }): Promise<T>;
}

/** A small file, most of which is gone at once. */
export interface Followed {
  lengthBytes: number;
  /** As that of a `Flight`. */
  mayRepeat(): boolean;
  /** It is late: to be sent once more beside the first try. At most once. */
  hedge(): void;
  /** To be ended, to make room for others; left out where it may not be. */
  shed?(): void;
}

export interface Following {
  /** So many bytes of it are gone. */
  moved(bytes: number): void;
  /** It is over. `hasLanded`: it got there, which tells how long one of its kind takes. */
  leave(hasLanded: boolean): void;
}

/** Late is: longer than this times the middle one of its siblings, and a little more. */
const LATE_FACTOR = 2.5;
const LATE_MS = 500;
/** A small file is all of it gone in a moment: what is late then waits for a lost packet, and costs little to send again. */
const SMALL_LATE_FACTOR = 2;
const SMALL_LATE_MS = 100;
const LOOK_EVERY_MS = 250;
/** While small files are on their way, or parts that may be begun anew, and in the end. */
const LOOK_OFTEN_MS = 125;
/** Slow is: a third of the middle rate of those beside it, when both had time to show what they can. */
const SLOW_SHARE = 0.35;
const SHOWN_MS = 1_500;
const LEAST_BESIDE = 4;
/** The link has room when it carries less than this share of what it has carried. */
const ROOM_SHARE = 0.6;
/** What a part begun now gets of the link, and how long it takes to get there. */
const AGAIN_SHARE = 0.5;
/** Only the last few parts: while more are on their way, they fill the link by themselves soon. */
const LAST_PARTS = 4;
const AGAIN_MS = 800;
/** Begun anew only while less than this is gone. */
const GONE_SHARE = 0.3;

interface Flying {
  lengthBytes: number;
  startedAt: number;
  movedBytes: number;
  isHedged: boolean;
  isSmall: boolean;
  mayShed: boolean;
  mayRepeat(): boolean;
  wasBegunAnew: boolean;
  hedge(): void;
  beginAnew(): void;
  shed(): void;
}

const nothing = () => undefined;
const BEGUN_ANEW = new Fault("CANCELLED", { detail: "it is begun anew on another connection" });

export function createHedges(parts: {
  clock: Clock;
  beats: Beats;
  gate: Gate;
  meter: Pick<Meter, "totalBytes">;
  room: LinkRoom;
}): Hedges {
  const { clock, beats, gate, room } = parts;
  const flying = new Set<Flying>();
  /** Of those, how many may be shed, and how many are small. */
  let mayShed = 0;
  let small = 0;
  const memory = createFlightMemory(parts.meter);
  let isWatching = false;

  /** Whether any may be begun anew, now or later. */
  const beginSlowAnew = (now: number): boolean => {
    const hasShown = ({ isHedged, startedAt }: Flying) => !isHedged && now - startedAt >= SHOWN_MS;
    const isEarly = ({ movedBytes, lengthBytes }: Flying) => movedBytes < lengthBytes * GONE_SHARE;
    const early: Flying[] = [];
    for (const one of flying) if (!one.wasBegunAnew && isEarly(one)) early.push(one);
    // Most looks end here, and there are thousands of them.
    if (early.length === 0) return false;
    const shown = [...flying].filter(hasShown);
    if (shown.length <= LEAST_BESIDE) return true;
    const rateOf = ({ movedBytes, startedAt }: Flying) => movedBytes / (now - startedAt);
    const rates = shown.map(rateOf).sort((a, b) => a - b);
    const slow = (rates[Math.floor(rates.length / 2)] ?? 0) * SLOW_SHARE;
    const behind = early.filter((flight) => hasShown(flight) && rateOf(flight) < slow);
    if (behind.length > 0 && room.isFree()) for (const flight of behind) flight.beginAnew();
    return true;
  };
  const look = () => {
    isWatching = flying.size > 0;
    if (!isWatching) return;
    const now = clock.now();
    const isOften = beginSlowAnew(now) || small > 0 || flying.size <= LAST_PARTS;
    beats.after(isOften ? LOOK_OFTEN_MS : LOOK_EVERY_MS, look);
    const bytesPerSecond = memory.rateOfLink(now);
    if (!gate.isEnding || gate.held >= gate.width) return;
    const seemsFree = flying.size <= LAST_PARTS && bytesPerSecond < memory.bestRate * ROOM_SHARE;
    // Asked ahead: the answer takes round trips, and these are the last ones.
    if (seemsFree) room.isFree();
    let latest: Flying | null = null;
    let spare = gate.width - gate.held;
    // Nearly all are of one length.
    let known: { lengthBytes: number; usual: number | null } = { lengthBytes: -1, usual: null };
    for (const flight of flying) {
      if (flight.isHedged) continue;
      const { lengthBytes } = flight;
      const ageMs = now - flight.startedAt;
      if (known.lengthBytes !== lengthBytes) known = { lengthBytes, usual: memory.usualMs(lengthBytes) };
      const { usual } = known;
      if (flight.isSmall) {
        if (usual === null || ageMs <= usual * SMALL_LATE_FACTOR + SMALL_LATE_MS || spare === 0) continue;
        if (!flight.mayRepeat()) continue;
        spare--;
        flight.hedge();
        continue;
      }
      const isLate = usual !== null && ageMs > usual * LATE_FACTOR + LATE_MS;
      const leftMs = ((lengthBytes - flight.movedBytes) * ageMs) / Math.max(1, flight.movedBytes);
      const againMs = AGAIN_MS + (lengthBytes / (memory.bestRate * AGAIN_SHARE)) * 1000;
      if (!isLate && !(seemsFree && leftMs > againMs)) continue;
      if ((latest === null || flight.startedAt < latest.startedAt) && flight.mayRepeat()) latest = flight;
    }
    if (latest !== null && room.isFree()) latest.hedge();
  };

  const enter = (flight: Flying) => {
    flying.add(flight);
    if (flight.mayShed) mayShed++;
    if (flight.isSmall) small++;
    if (isWatching) return;
    isWatching = true;
    beats.after(LOOK_OFTEN_MS, look);
  };
  const leave = (flight: Flying) => {
    if (!flying.delete(flight)) return;
    if (flight.mayShed) mayShed--;
    if (flight.isSmall) small--;
  };

  return {
    lengthBytes: () => {
      // Asked for all the time; small downloads are many, and none of them is meant.
      if (mayShed === 0) return null;
      let longest: number | null = null;
      for (const one of flying) if (one.mayShed) longest = Math.max(longest ?? 0, one.lengthBytes);
      return longest;
    },
    shed: (width) => {
      const isWhole = ({ movedBytes, lengthBytes }: Flying) => movedBytes >= lengthBytes;
      const byMoved = [...flying]
        .filter((one) => one.mayShed && !one.isHedged && !isWhole(one))
        .sort((a, b) => a.movedBytes - b.movedBytes);
      for (const flight of byMoved.slice(0, Math.max(0, flying.size - width))) flight.shed();
    },
    follow: ({ lengthBytes, mayRepeat, hedge, shed }) => {
      const startedAt = clock.now();
      const me: Flying = {
        lengthBytes,
        startedAt,
        movedBytes: 0,
        isHedged: false,
        isSmall: true,
        mayShed: shed !== undefined,
        mayRepeat,
        // It is gone before that could help.
        wasBegunAnew: true,
        hedge: () => {
          me.isHedged = true;
          hedge();
        },
        beginAnew: nothing,
        shed: shed ?? nothing,
      };
      enter(me);
      return {
        moved: (bytes) => {
          me.movedBytes += bytes;
        },
        leave: (isThere) => {
          leave(me);
          if (isThere) memory.landed(lengthBytes, clock.now() - startedAt);
        },
      };
    },
    run: async <T>(flight: Flight<T>): Promise<T> => {
      const stops: AbortController[] = [];
      const running = new Set<Promise<void>>();
      const startedAt = clock.now();
      const outcome = Promise.withResolvers<T>();
      let firstFailure: unknown;
      let isWon = false;

      const won = async (result: T, stop: AbortController) => {
        isWon = true;
        leave(me);
        for (const other of stops) if (other !== stop) other.abort(new Fault("CANCELLED"));
        memory.landed(flight.lengthBytes, clock.now() - startedAt);
        // Nothing of the loser may still read from the file when the winner is reported.
        await Promise.allSettled(running);
        outcome.resolve(result);
      };
      const lost = (error: unknown, about: { stop: AbortController; isHedge: boolean }) => {
        if (isWon) return;
        if (about.stop.signal.reason === BEGUN_ANEW && !flight.signal.aborted) {
          me.movedBytes = 0;
          me.startedAt = clock.now();
          begin(false);
          return;
        }
        if (about.stop.signal.reason === SHED && !flight.signal.aborted) firstFailure = SHED;
        else if (!about.isHedge) firstFailure = error;
        if (running.size > 0) return;
        leave(me);
        outcome.reject(firstFailure ?? error);
      };
      const begin = (isHedge: boolean) => {
        const stop = new AbortController();
        stops.push(stop);
        const { signal } = stop;
        // Thousands of `AbortSignal.any` would be felt as memory.
        const pass = () => stop.abort(flight.signal.reason);
        if (flight.signal.aborted) pass();
        const forget = whenAborted(flight.signal, pass);
        const onMoved = (bytes: number) => {
          if (!isHedge) me.movedBytes += bytes;
        };
        const work = () => flight.attempt({ signal, isHedge, onMoved });
        const one = async () => {
          try {
            const result = isHedge ? await gate.run({ signal, size: "large" }, work) : await work();
            running.delete(done);
            await won(result, stop);
          } catch (error) {
            running.delete(done);
            lost(error, { stop, isHedge });
          } finally {
            forget();
          }
        };
        const done = one();
        running.add(done);
      };
      const me: Flying = {
        lengthBytes: flight.lengthBytes,
        startedAt,
        movedBytes: 0,
        isHedged: false,
        isSmall: flight.isSmall,
        mayShed: flight.mayShed,
        mayRepeat: flight.mayRepeat,
        wasBegunAnew: false,
        hedge: () => {
          me.isHedged = true;
          begin(true);
        },
        beginAnew: () => {
          me.wasBegunAnew = true;
          stops[0]?.abort(BEGUN_ANEW);
        },
        shed: () => {
          for (const stop of stops) stop.abort(SHED);
        },
      };
      enter(me);
      begin(false);
      return outcome.promise;
    },
  };
}

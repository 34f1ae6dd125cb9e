import type { TimerCoalescer } from "#worker/base/timer-coalescer.ts";
import type { Clock } from "#worker/base/clock.ts";
import { attemptFlight } from "./attempt-flight.ts";
import type { Flight, Flying } from "./flight.ts";
import { beginSlowAnew, hedgeLate, LAST_PARTS } from "./late-flights.ts";
import { createLatencyEstimator } from "./latency-estimator.ts";
import type { Semaphore } from "./semaphore.ts";
import type { SpareCapacity } from "./spare-capacity.ts";
import type { Meter } from "../progress/meter.ts";

/**
 * Speeds up the last seconds of an upload, which often wait for one part on a slow connection while all others are idle.
 *
 * Restart: a part far slower than those beside it starts again on another connection, while little of it has been sent. A
 * connection that lost its first packets stays slow for longer than a part takes.
 *
 * Hedged request: when no part waits any more, a part is sent a second time in parallel. It qualifies when it has been in
 * flight far longer than its siblings took. It also qualifies when the link is half empty and its rest would take longer than
 * sending it whole. The first acknowledged attempt counts, and the other is canceled.
 *
 * Both waste bytes, so both need spare capacity: on a full link they slow the other parts. Only small files skip that
 * check.
 */
export interface Hedges {
  /**
   * Runs `flight.attempt`, and perhaps a second attempt in parallel. Resolves with the first success, once both have ended;
   * rejects with the first attempt's failure when neither succeeds.
   */
  run<T>(flight: Flight<T>): Promise<T>;
  /** Watches a small file whose requests the caller runs itself. */
  follow(small: Followed): Following;
  /** Returns the length of the longest flight in progress that may be shed; null when there is none. */
  lengthBytes(): number | null;
  /** Ends flights until `width` are left, those that have moved least first. They reject with `SHED`. */
  shed(width: number): void;
}

/** A small file to watch. Most of its bytes are sent at once. */
export interface Followed {
  lengthBytes: number;
  /** Same as `Flight.mayRepeat`. */
  mayRepeat(): boolean;
  /** Called at most once, when the file is late: starts a second request in parallel. */
  hedge(): void;
  /** Ends the file to make room for others; omitted where it may not be ended. */
  shed?(): void;
}

export interface Following {
  /** Counts bytes of the file that have moved. */
  moved(bytes: number): void;
  /** Ends the watch. `hasLanded`: the file arrived, so its duration counts in later comparisons. */
  leave(hasLanded: boolean): void;
}

const LOOK_EVERY_MS = 250;
/** Interval while small files or parts that may restart are in flight, and near the end. */
const LOOK_OFTEN_MS = 125;

const nothing = () => undefined;
export function createHedges(parts: {
  clock: Clock;
  coalescer: TimerCoalescer;
  semaphore: Semaphore;
  meter: Pick<Meter, "totalBytes">;
  room: SpareCapacity;
}): Hedges {
  const { clock, coalescer, semaphore, room } = parts;
  const flying = new Set<Flying>();
  /** Number of flights that may be shed, and of small ones. */
  let mayShed = 0;
  let small = 0;
  const memory = createLatencyEstimator(parts.meter);
  let isWatching = false;

  const look = () => {
    isWatching = flying.size > 0;
    if (!isWatching) return;
    const now = clock.now();
    const isOften = beginSlowAnew(flying, room, now) || small > 0 || flying.size <= LAST_PARTS;
    coalescer.after(isOften ? LOOK_OFTEN_MS : LOOK_EVERY_MS, look);
    const bytesPerSecond = memory.rateOfLink(now);
    if (!semaphore.isEnding || semaphore.held >= semaphore.width) return;
    hedgeLate(flying, { now, bytesPerSecond, memory, semaphore, room });
  };

  const enter = (flight: Flying) => {
    flying.add(flight);
    if (flight.mayShed) mayShed++;
    if (flight.isSmall) small++;
    if (isWatching) return;
    isWatching = true;
    coalescer.after(LOOK_OFTEN_MS, look);
  };
  const leave = (flight: Flying) => {
    if (!flying.delete(flight)) return;
    if (flight.mayShed) mayShed--;
    if (flight.isSmall) small--;
  };

  const control = { clock, semaphore, memory, enter, leave };

  return {
    lengthBytes: () => {
      // Asked on every sample: skips the loop over thousands of small downloads, none of which may be shed.
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
        // A small file has been sent before a restart could help.
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
    run: (flight) => attemptFlight(control, flight),
  };
}

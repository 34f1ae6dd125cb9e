import type { Beats } from "#worker/base/timer-coalescer.ts";
import type { Clock } from "#worker/base/clock.ts";
import { attemptFlight } from "./attempt-flight.ts";
import type { Flight, Flying } from "./flight.ts";
import { beginSlowAnew, hedgeLate, LAST_PARTS } from "./late-flights.ts";
import { createFlightMemory } from "./latency-estimator.ts";
import type { Gate } from "./semaphore.ts";
import type { LinkRoom } from "./spare-capacity.ts";
import type { Meter } from "../progress/meter.ts";

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

const LOOK_EVERY_MS = 250;
/** While small files are on their way, or parts that may be begun anew, and in the end. */
const LOOK_OFTEN_MS = 125;

const nothing = () => undefined;
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

  const look = () => {
    isWatching = flying.size > 0;
    if (!isWatching) return;
    const now = clock.now();
    const isOften = beginSlowAnew(flying, room, now) || small > 0 || flying.size <= LAST_PARTS;
    beats.after(isOften ? LOOK_OFTEN_MS : LOOK_EVERY_MS, look);
    const bytesPerSecond = memory.rateOfLink(now);
    if (!gate.isEnding || gate.held >= gate.width) return;
    hedgeLate(flying, { now, bytesPerSecond, memory, gate, room });
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

  const control = { clock, gate, memory, enter, leave };

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
    run: (flight) => attemptFlight(control, flight),
  };
}

import type { TimerCoalescer } from "#worker/base/timer-coalescer.ts";
import type { SocketWatch } from "#worker/base/system-calls.ts";

/**
 * Tells when full sockets have room again. Room for a few packets comes a moment later, room for a third of the buffer some
 * time after. So all sockets are asked at ticks for that third, instead of waking the process for each.
 */
export interface RoomWatch {
  /** Watches a socket until it is closed. Returns false when it cannot be watched. */
  add(socketFd: number): boolean;
  /**
   * Calls `goOn` once when a watched socket has room again; the socket itself reports a broken connection. Returns false
   * after `close`.
   */
  wait(socketFd: number, goOn: () => void): boolean;
  /** Records whether the sending rate of a socket is limited. */
  paced(socketFd: number, isPaced: boolean): void;
  forget(goOn: () => void): void;
  /** Ends the watch: no listener is called any more, and `wait` returns false. */
  close(): void;
}

/**
 * A socket with room again sends its remaining bytes within a third of a round trip, or half of its drain time if longer.
 * Drain time: from full to room, longer when packets are lost. A late tick lengthens that time, so only a third of it is
 * used.
 */
const TICK = { roundTrips: 1 / 3, ofDraining: 1 / 3, leastMs: 2, mostMs: 50 };
/**
 * A paced socket holds more, and takes more at a time: when it has room, it still holds twice as much as it has sent since.
 */
const PACED_TICK: typeof TICK = { roundTrips: 1, ofDraining: 1, leastMs: 2, mostMs: 400 };

interface Waiting {
  goOn(): void;
  since: number;
}

export function createRoomWatch(
  rooms: SocketWatch,
  about: { coalescer: Pick<TimerCoalescer, "after">; rttMs(): number | null; now(): number },
): RoomWatch {
  const waiting = new Map<number, Waiting>();
  const paced = new Set<number>();
  /** Last drain time of each socket, from full to room, ms. */
  const drainMs = new Map<number, number>();
  let forgetTick: (() => void) | null = null;
  let tickMs = 0;
  let isTicking = false;
  let isClosed = false;
  const tick = () => {
    forgetTick = null;
    isTicking = true;
    try {
      const nowMs = about.now();
      for (const socketFd of rooms.take()) {
        const one = waiting.get(socketFd);
        if (one === undefined) continue;
        waiting.delete(socketFd);
        drainMs.set(socketFd, nowMs - one.since);
        one.goOn();
      }
    } finally {
      isTicking = false;
      if (waiting.size > 0) startAfter(shortest());
    }
  };
  const tickOf = (socketFd: number, rttMs: number): number => {
    const { roundTrips, ofDraining, leastMs, mostMs } = paced.has(socketFd) ? PACED_TICK : TICK;
    return Math.min(mostMs, Math.max(leastMs, rttMs * roundTrips, (drainMs.get(socketFd) ?? 0) * ofDraining));
  };
  const shortest = (): number => {
    const rttMs = about.rttMs() ?? 0;
    let least = Infinity;
    for (const socketFd of waiting.keys()) least = Math.min(least, tickOf(socketFd, rttMs));
    return least;
  };
  const startAfter = (ms: number) => {
    tickMs = ms;
    forgetTick = about.coalescer.after(ms, tick);
  };
  const stop = () => {
    forgetTick?.();
    forgetTick = null;
  };
  return {
    add: (socketFd) => {
      // Its descriptor may have been that of a closed socket.
      paced.delete(socketFd);
      drainMs.delete(socketFd);
      return !isClosed && rooms.add(socketFd);
    },
    wait: (socketFd, goOn) => {
      if (isClosed) return false;
      waiting.set(socketFd, { goOn, since: about.now() });
      if (isTicking) return true;
      const requestedMs = tickOf(socketFd, about.rttMs() ?? 0);
      if (forgetTick !== null && requestedMs >= tickMs) return true;
      stop();
      startAfter(requestedMs);
      return true;
    },
    paced: (socketFd, isPaced) => {
      if (isPaced) paced.add(socketFd);
      else paced.delete(socketFd);
    },
    forget: (goOn) => {
      for (const [socketFd, one] of waiting) if (one.goOn === goOn) waiting.delete(socketFd);
    },
    close: () => {
      // Closed once only: its descriptor may belong to another file afterwards.
      if (isClosed) return;
      isClosed = true;
      waiting.clear();
      stop();
      rooms.close();
    },
  };
}

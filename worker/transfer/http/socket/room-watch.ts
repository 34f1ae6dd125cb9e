import type { Beats } from "#worker/base/timer-coalescer.ts";
import type { SocketWatch } from "#worker/base/system-calls.ts";

/**
 * A socket that is full has room again for a few packets a moment later, and for a third of what it holds some time after:
 * it is asked for that at ticks, of all sockets at once, instead of being woken for each.
 */
export interface RoomWatch {
  /** From now on it can be waited for, until it is closed. False: nobody can tell. */
  add(socketFd: number): boolean;
  /**
   * Of one that was added: `goOn` is called once, when the socket has room again. That its connection is broken the socket
   * itself tells. False: nobody can tell any more.
   */
  wait(socketFd: number, goOn: () => void): boolean;
  /** From now on it sends no faster than it was told, or as fast as it can. */
  paced(socketFd: number, isPaced: boolean): void;
  forget(goOn: () => void): void;
  /** Nobody is told any more, and nobody can wait. */
  close(): void;
}

/**
 * What a socket still holds when it has room again is sent within a third of a round trip, or within half of the time that it took
 * until it had room, which is longer where losses hold it back. A look that comes late makes that time longer: so of it a third.
 */
const TICK = { roundTrips: 1 / 3, ofDraining: 1 / 3, leastMs: 2, mostMs: 50 };
/** One that is held back holds more, and takes more at a time for it: when it has room it holds as much as is gone by then, twice. */
const PACED_TICK: typeof TICK = { roundTrips: 1, ofDraining: 1, leastMs: 2, mostMs: 400 };

interface Waiting {
  goOn(): void;
  since: number;
}

export function createRoomWatch(
  rooms: SocketWatch,
  about: { beats: Pick<Beats, "after">; rttMs(): number | null; now(): number },
): RoomWatch {
  const waiting = new Map<number, Waiting>();
  const paced = new Set<number>();
  /** How long each took, the last time, until it had room. */
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
  const wishOf = (socketFd: number, rttMs: number): number => {
    const { roundTrips, ofDraining, leastMs, mostMs } = paced.has(socketFd) ? PACED_TICK : TICK;
    return Math.min(mostMs, Math.max(leastMs, rttMs * roundTrips, (drainMs.get(socketFd) ?? 0) * ofDraining));
  };
  const shortest = (): number => {
    const rttMs = about.rttMs() ?? 0;
    let least = Infinity;
    for (const socketFd of waiting.keys()) least = Math.min(least, wishOf(socketFd, rttMs));
    return least;
  };
  const startAfter = (ms: number) => {
    tickMs = ms;
    forgetTick = about.beats.after(ms, tick);
  };
  const stop = () => {
    forgetTick?.();
    forgetTick = null;
  };
  return {
    add: (socketFd) => {
      // Its number may have been that of another one.
      paced.delete(socketFd);
      drainMs.delete(socketFd);
      return !isClosed && rooms.add(socketFd);
    },
    wait: (socketFd, goOn) => {
      if (isClosed) return false;
      waiting.set(socketFd, { goOn, since: about.now() });
      if (isTicking) return true;
      const wishedMs = wishOf(socketFd, about.rttMs() ?? 0);
      if (forgetTick !== null && wishedMs >= tickMs) return true;
      stop();
      startAfter(wishedMs);
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
      // Its number belongs to another file afterwards.
      if (isClosed) return;
      isClosed = true;
      waiting.clear();
      stop();
      rooms.close();
    },
  };
}

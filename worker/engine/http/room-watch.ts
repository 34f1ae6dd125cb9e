import type { SocketWatch } from "./system-calls.ts";

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

/** What a socket still holds when it has room again is sent within a third of a round trip. */
const TICK = { roundTrips: 1 / 3, leastMs: 2, mostMs: 50 };
/** One that is held back holds more, and takes more at a time for it. */
const PACED_TICK = { roundTrips: 1, leastMs: 2, mostMs: 150 };

export function createRoomWatch(rooms: SocketWatch, rttMs: () => number | null): RoomWatch {
  const waiting = new Map<number, () => void>();
  const paced = new Set<number>();
  let timer: NodeJS.Timeout | null = null;
  let isLongTick = false;
  let isClosed = false;
  const tick = () => {
    timer = null;
    for (const socketFd of rooms.take()) {
      const goOn = waiting.get(socketFd);
      waiting.delete(socketFd);
      goOn?.();
    }
    if (waiting.size > 0) start();
  };
  const start = () => {
    if (timer !== null) return;
    isLongTick = waiting.keys().every((socketFd) => paced.has(socketFd));
    const { roundTrips, leastMs, mostMs } = isLongTick ? PACED_TICK : TICK;
    timer = setTimeout(tick, Math.min(mostMs, Math.max(leastMs, (rttMs() ?? 0) * roundTrips)));
  };
  const stop = () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };
  return {
    add: (socketFd) => {
      // Its number may have been that of another one.
      paced.delete(socketFd);
      return !isClosed && rooms.add(socketFd);
    },
    wait: (socketFd, goOn) => {
      if (isClosed) return false;
      waiting.set(socketFd, goOn);
      if (isLongTick && !paced.has(socketFd)) stop();
      start();
      return true;
    },
    paced: (socketFd, isPaced) => {
      if (isPaced) paced.add(socketFd);
      else paced.delete(socketFd);
    },
    forget: (goOn) => {
      for (const [socketFd, one] of waiting) if (one === goOn) waiting.delete(socketFd);
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

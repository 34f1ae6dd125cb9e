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
  forget(goOn: () => void): void;
  /** Nobody is told any more, and nobody can wait. */
  close(): void;
}

/** What a socket still holds when it has room again is sent within a third of a round trip. */
const TICK = { roundTrips: 1 / 3, leastMs: 2, mostMs: 50 };

export function createRoomWatch(rooms: SocketWatch, rttMs: () => number | null): RoomWatch {
  const waiting = new Map<number, () => void>();
  let timer: NodeJS.Timeout | null = null;
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
    const tickMs = Math.min(TICK.mostMs, Math.max(TICK.leastMs, (rttMs() ?? 0) * TICK.roundTrips));
    timer ??= setTimeout(tick, tickMs);
  };
  return {
    add: (socketFd) => !isClosed && rooms.add(socketFd),
    wait: (socketFd, goOn) => {
      if (isClosed) return false;
      waiting.set(socketFd, goOn);
      start();
      return true;
    },
    forget: (goOn) => {
      for (const [socketFd, one] of waiting) if (one === goOn) waiting.delete(socketFd);
    },
    close: () => {
      // Its number belongs to another file afterwards.
      if (isClosed) return;
      isClosed = true;
      waiting.clear();
      if (timer !== null) clearTimeout(timer);
      rooms.close();
    },
  };
}

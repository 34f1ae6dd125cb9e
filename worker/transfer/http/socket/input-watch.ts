import { MOST_TOLD, type SocketWatch } from "#worker/base/system-calls.ts";

/**
 * Tells which of many sockets have something to read. One call serves all sockets of a tick, instead of a failed read for
 * every second one.
 */
export interface InputWatch {
  /** Watches a socket until it is closed. Returns false when it cannot be watched. */
  add(socketFd: number): boolean;
  /** Returns whether a watched socket has something to read, its end or an error included. True in doubt. */
  hasInput(socketFd: number): boolean;
  close(): void;
}

/** Time for which the result of one call serves all sockets, ms. */
const FRESH_MS = 1;

export function createInputWatch(sockets: SocketWatch, now: () => number): InputWatch {
  let ready: ReadonlySet<number> | null = null;
  let askedAt = -Infinity;
  let isClosed = false;
  return {
    add: (socketFd) => !isClosed && sockets.add(socketFd),
    hasInput: (socketFd) => {
      if (isClosed) return true;
      const nowMs = now();
      if (nowMs - askedAt > FRESH_MS) {
        const told = sockets.take();
        // More sockets may be ready than one call can tell.
        ready = told.length < MOST_TOLD ? new Set(told) : null;
        askedAt = nowMs;
      }
      return ready === null || ready.has(socketFd);
    },
    close: () => {
      // Closed once only: its descriptor may belong to another file afterwards.
      if (isClosed) return;
      isClosed = true;
      sockets.close();
    },
  };
}

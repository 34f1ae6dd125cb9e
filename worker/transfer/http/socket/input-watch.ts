import { MOST_TOLD, type SocketWatch } from "#worker/base/system-calls.ts";

/**
 * Which of many sockets have something to read: one question for all that are looked at in the same tick, instead of a read in
 * vain for every second of them.
 */
export interface InputWatch {
  /** From now on it is asked about, until it is closed. False: nobody can tell. */
  add(socketFd: number): boolean;
  /** Whether one that was added has something to read, its end or an error included. In doubt it has. */
  hasInput(socketFd: number): boolean;
  close(): void;
}

/** So long an answer counts for the others. */
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
        // There may be more than could be told.
        ready = told.length < MOST_TOLD ? new Set(told) : null;
        askedAt = nowMs;
      }
      return ready === null || ready.has(socketFd);
    },
    close: () => {
      // Its number belongs to another file afterwards.
      if (isClosed) return;
      isClosed = true;
      sockets.close();
    },
  };
}

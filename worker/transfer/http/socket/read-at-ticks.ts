import type { SocketWatch } from "#worker/base/system-calls.ts";

/**
 * Answers to thousands of small requests come in small pieces on many connections, and waking the process for each costs more
 * than reading it. So at every tick one call tells which sockets have something, and only those are read.
 */
export interface TickReader {
  /** Reads a socket from the next tick on. The socket must be watched already. */
  expect(socketFd: number, reader: Reader): void;
  forget(socketFd: number): void;
  /** Ends all ticks. */
  close(): void;
}

export interface Reader {
  /** Called when there is something to read, its end or an error included. */
  read(): void;
  /** Called when nothing has come for long and may take minutes: the socket is no longer read at ticks. */
  leave(): void;
}

/** An answer that brings nothing for this long is waited for in the usual way, ms. */
const QUIET_MS = 2_000;

export function createTickReader(
  sockets: Pick<SocketWatch, "take">,
  about: { tickMs(): number; now(): number },
): TickReader {
  const expected = new Map<number, { reader: Reader; movedAt: number }>();
  let timer: NodeJS.Timeout | null = null;
  let lookedAt = about.now();
  let isClosed = false;

  const tick = () => {
    timer = null;
    const nowMs = about.now();
    for (const socketFd of sockets.take()) {
      const one = expected.get(socketFd);
      if (one === undefined) continue;
      one.movedAt = nowMs;
      one.reader.read();
    }
    if (nowMs - lookedAt > QUIET_MS / 4) leaveQuiet(nowMs);
    wake();
  };
  const leaveQuiet = (nowMs: number) => {
    lookedAt = nowMs;
    for (const [socketFd, { reader, movedAt }] of expected) {
      if (nowMs - movedAt < QUIET_MS) continue;
      expected.delete(socketFd);
      reader.leave();
    }
  };
  const wake = () => {
    if (expected.size > 0 && !isClosed) timer ??= setTimeout(tick, about.tickMs());
  };
  return {
    expect: (socketFd, reader) => {
      expected.set(socketFd, { reader, movedAt: about.now() });
      wake();
    },
    forget: (socketFd) => void expected.delete(socketFd),
    close: () => {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}

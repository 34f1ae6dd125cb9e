import type { SocketWatch } from "#worker/base/system-calls.ts";

/**
 * The answers to thousands of small requests come in crumbs on many connections: to be woken for each of them costs more than to read
 * it. Here nobody is woken: at every tick one question tells which sockets have something, and only those are read.
 */
export interface TickReader {
  /** From the next tick on. The socket is watched already. */
  expect(socketFd: number, reader: Reader): void;
  forget(socketFd: number): void;
  /** Nobody is asked about any more. */
  close(): void;
}

export interface Reader {
  /** There is something to read, its end or an error included. */
  read(): void;
  /** Nothing has come for so long that it may take minutes: it is not asked about any more. */
  leave(): void;
}

/** An answer that has not begun by then, or goes on no more, is waited for in the usual way. */
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

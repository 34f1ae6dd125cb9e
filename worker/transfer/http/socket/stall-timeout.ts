/**
 * Stall timeout of a socket, which can stay open for a quarter of an hour after the other side is gone. Counts how long no
 * byte moved. Time spent waiting for our own limiter or disk does not count, nor does time in which this process stood still.
 */
export interface StallTimeout {
  /** Records that a byte moved. */
  touch(): void;
  /** Sets how long no byte may move from now on, ms. */
  allow(quietMs: number): void;
  /** Suspends the timeout until `goOn`, because this side keeps the network waiting. May be nested. */
  hold(): void;
  goOn(): void;
  /** Excludes milliseconds in which the process itself stood still. */
  forgive(ms: number): void;
  /** Returns how long nothing moved, ms, when that is too long; null otherwise. */
  tooLongMs(): number | null;
}

export function createStallTimeout(input: { now: () => number; quietMs: number }): StallTimeout {
  const { now } = input;
  let { quietMs } = input;
  let movedAt = now();
  let holds = 0;
  return {
    touch: () => {
      movedAt = now();
    },
    allow: (next) => {
      quietMs = next;
      movedAt = now();
    },
    hold: () => {
      holds++;
    },
    goOn: () => {
      holds--;
      movedAt = now();
    },
    forgive: (ms) => {
      movedAt += ms;
    },
    tooLongMs: () => {
      const silent = now() - movedAt;
      return holds === 0 && silent >= quietMs ? silent : null;
    },
  };
}

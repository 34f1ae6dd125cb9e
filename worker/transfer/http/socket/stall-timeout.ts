/**
 * Sockets can stay open for a quarter of an hour after the other side is gone. Here is counted how long no byte moved;
 * time spent waiting for our own limiter or disk does not count, nor does time in which this process stood still.
 */
export interface Silence {
  /** A byte moved. */
  touch(): void;
  /** From now on, this long without a byte is too long. */
  allow(quietMs: number): void;
  /** We keep the network waiting, until `goOn`. May be nested. */
  hold(): void;
  goOn(): void;
  /** The process itself did not look for so long. */
  forgive(ms: number): void;
  /** How long nothing moved, when that is too long; null otherwise. */
  tooLongMs(): number | null;
}

export function createSilence(input: { now: () => number; quietMs: number }): Silence {
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

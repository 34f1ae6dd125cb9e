/**
 * On a slow link every few packets would wake the process for 5 KB. Connections that bring little are therefore left
 * alone for a few milliseconds, all until the same tick, and read then what has gathered in the kernel. A connection that
 * brings much is never held back.
 */
export interface Pacer {
  /** This one was just read from; it is asked to settle when all that was ready has been read. */
  seen(one: Paced): void;
  /** Visits it at `dueAt`. */
  rest(one: Paced): void;
  forget(one: Paced): void;
}

export interface Pace {
  /** The shortest rest, ms; longer ones are twice, four times ... as long. 0: they are read from as soon as there is anything. */
  tickMs: number;
  /** What one rest should bring, bytes. */
  aimBytes: number;
  /** Longest rest, ms. Nor is a rest longer than a third of the round trip (or one tick): longer ones cost throughput. */
  mostMs: number;
  /**
   * A connection rests only after it brought so much: until then the kernel widens its receive window by how fast it is
   * read from, and a window that stays narrow costs throughput for as long as the connection lives.
   */
  growBytes: number;
}

export interface Paced {
  /** All that was ready has been read. */
  settle(): void;
  /** Its time has come. True: visit again at `dueAt`. */
  visit(nowMs: number): boolean;
  /** By the clock of the pacer, ms. */
  dueAt: number;
}

export function createPacer(now: () => number): Pacer {
  const justRead: Paced[] = [];
  const resting = new Set<Paced>();
  let timer: NodeJS.Timeout | null = null;
  let wakesAt = Infinity;

  const settleAll = () => {
    for (const one of justRead.splice(0)) one.settle();
  };
  const wakeAt = (at: number) => {
    if (at >= wakesAt) return;
    if (timer !== null) clearTimeout(timer);
    wakesAt = at;
    timer = setTimeout(tick, Math.max(1, Math.ceil(at - now())));
  };
  const tick = () => {
    timer = null;
    wakesAt = Infinity;
    const nowMs = now();
    let next = Infinity;
    for (const one of resting) {
      // A timer may fire a fraction of a millisecond early.
      if (one.dueAt <= nowMs + 0.5 && !one.visit(nowMs)) resting.delete(one);
      else next = Math.min(next, one.dueAt);
    }
    if (next < Infinity) wakeAt(next);
  };
  return {
    seen: (one) => {
      if (justRead.length === 0) setImmediate(settleAll);
      justRead.push(one);
    },
    rest: (one) => {
      resting.add(one);
      wakeAt(one.dueAt);
    },
    forget: (one) => {
      resting.delete(one);
      if (resting.size > 0 || timer === null) return;
      clearTimeout(timer);
      timer = null;
      wakesAt = Infinity;
    },
  };
}

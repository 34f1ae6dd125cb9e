/**
 * Schedules the rests of connections. On a slow link every few packets would wake the process for 5 KB. So connections that
 * bring little rest for a few milliseconds, all until the same tick, and then what gathered in the kernel is read. A
 * connection that brings much never rests.
 */
export interface Pacer {
  /** Records that a connection was just read; its `settle` is called when all that was ready has been read. */
  seen(one: Paced): void;
  /** Visits a connection at its `dueAt`. */
  rest(one: Paced): void;
  forget(one: Paced): void;
}

export interface Pace {
  /** Shortest rest, ms; longer ones are twice, four times ... as long. 0: no rests, bytes are read as they come. */
  tickMs: number;
  /** Bytes that one rest should bring. */
  aimBytes: number;
  /**
   * Longest rest, ms. A rest is also no longer than a third of the RTT (or one tick), because longer ones cost throughput.
   */
  mostMs: number;
  /**
   * A connection rests only after it brought this many bytes. Until then the kernel widens its receive window by how fast it
   * is read. A window that stays narrow costs throughput for as long as the connection lives.
   */
  growBytes: number;
}

export interface Paced {
  /** Called when all that was ready has been read. */
  settle(): void;
  /** Called at `dueAt`. Returns true to be visited again at the new `dueAt`. */
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

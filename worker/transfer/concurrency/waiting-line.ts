/** A lane that waits until its bytes may pass. */
export interface Waiter {
  place: number;
  /** Bytes not charged yet. */
  bytes: number;
  isContent: "with some" | "with all";
  /** Time after which the waiter may jump the queue, ms. */
  patientUntil: number;
  pass(bytes: number): void;
}

/** Queue of a bandwidth limiter: first the waiter whose patience has run out, then the lowest place. */
export interface WaitingLine {
  readonly length: number;
  add(waiter: Waiter): void;
  remove(waiter: Waiter): void;
  /** Returns the waiter to serve next, which stays in the queue. `now`: milliseconds, monotonic. */
  next(now: number): Waiter | undefined;
}

/** Creates an empty line. */
export function createWaitingLine(): WaitingLine {
  /** Sorted by place. */
  const waiting: Waiter[] = [];
  /** No waiter runs out of patience before this. */
  let allPatientUntil = Infinity;
  return {
    get length() {
      return waiting.length;
    },
    add: (waiter) => {
      // Searches from the end, where most waiters belong. The lane that was just served belongs at the front.
      let at = waiting.length;
      if ((waiting[0]?.place ?? -1) >= waiter.place) at = 0;
      while (at > 0 && (waiting[at - 1]?.place ?? 0) > waiter.place) at--;
      waiting.splice(at, 0, waiter);
      allPatientUntil = Math.min(allPatientUntil, waiter.patientUntil);
    },
    remove: (waiter) => {
      const at = waiting.indexOf(waiter);
      if (at >= 0) waiting.splice(at, 1);
    },
    next: (now) => {
      if (allPatientUntil > now) return waiting[0];
      let silent: Waiter | undefined;
      for (const waiter of waiting) if (waiter.patientUntil < (silent?.patientUntil ?? Infinity)) silent = waiter;
      allPatientUntil = silent?.patientUntil ?? Infinity;
      return silent !== undefined && silent.patientUntil <= now ? silent : waiting[0];
    },
  };
}

/** One that waits for bytes to pass. */
export interface Waiter {
  place: number;
  /** Still to be paid. */
  bytes: number;
  isContent: "with some" | "with all";
  /** When it may jump the line. */
  patientUntil: number;
  pass(bytes: number): void;
}

/** Those that wait for bytes to pass: first the one that has run out of patience, then by place. */
export interface WaitingLine {
  readonly length: number;
  add(waiter: Waiter): void;
  remove(waiter: Waiter): void;
  /** Returns the one to serve next; it stays in the line. `now`: milliseconds, monotonic. */
  next(now: number): Waiter | undefined;
}

/** Creates an empty line. */
export function createWaitingLine(): WaitingLine {
  /** By place. */
  const waiting: Waiter[] = [];
  /** No waiter runs out of patience before this. */
  let allPatientUntil = Infinity;
  return {
    get length() {
      return waiting.length;
    },
    add: (waiter) => {
      // Mostly at the end, or (the lane that was just served) at the front.
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

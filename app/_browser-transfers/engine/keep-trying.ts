import { Fault, toFault } from "#protocol/faults/fault.ts";

/**
 * Retries by the class of the fault. An outage of minutes is waited out. The fault is thrown when nothing has moved for
 * `GIVE_UP_AFTER_MS`; progress of other parts proves that the link works.
 */

export interface Patience {
  signal: AbortSignal;
  /** Epoch ms. */
  now: () => number;
  /** Resolves early when the signal aborts. */
  wait: (ms: number, signal: AbortSignal) => Promise<void>;
  /** From 0 to 1. */
  random: () => number;
  /** Returns when anything of this page moved last, epoch ms. */
  lastMovedAt: () => number;
  /** Called before each retry. Its rejection ends the retries. */
  onFault: (fault: Fault) => Promise<void>;
}

export const GIVE_UP_AFTER_MS = 600_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** Most consecutive faults of the class that is retried at once. */
const MOST_AT_ONCE = 8;

/** Retries `work` until it succeeds. @throws Fault CANCELLED, a fault that no retry helps, or the last one when time is over */
export async function keepTrying<Result>(work: () => Promise<Result>, patience: Patience): Promise<Result> {
  const { signal, now } = patience;
  const beganAt = now();
  let tries = 0;
  let atOnce = 0;
  for (;;) {
    if (signal.aborted) throw new Fault("CANCELLED");
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) throw new Fault("CANCELLED");
      const fault = toFault(error);
      if (fault.retry === "never") throw fault;
      atOnce = fault.retry === "now" ? atOnce + 1 : 0;
      const quietMs = now() - Math.max(beganAt, patience.lastMovedAt());
      if (atOnce > MOST_AT_ONCE || quietMs > GIVE_UP_AFTER_MS) throw fault;
      await patience.onFault(fault);
      const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(tries++, 10));
      const asked = fault.context.retryAfterMs ?? 0;
      await patience.wait(
        atOnce > 0 && atOnce < 3 ? 0 : Math.max(asked, waitMs * (0.5 + patience.random() / 2)),
        signal,
      );
    }
  }
}

/** Waits, or resolves early when the signal aborts. Never rejects. */
export const waitFor = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });

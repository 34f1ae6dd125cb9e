import { Fault, toFault } from "#protocol/faults/fault.ts";

/**
 * Tries again by the class of the fault, for as long as the clock on the wall allows: an outage of minutes is waited for,
 * one in which nothing moved for longer is said. Other parts that move show that the link is there.
 */

export interface Patience {
  signal: AbortSignal;
  /** Epoch ms. */
  now: () => number;
  /** Ends early when the signal does. */
  wait: (ms: number, signal: AbortSignal) => Promise<void>;
  /** From 0 to 1. */
  random: () => number;
  /** When anything of this page moved last, epoch ms. */
  lastMovedAt: () => number;
  /** Before each further try. What it throws is the end. */
  onFault: (fault: Fault) => Promise<void>;
}

export const GIVE_UP_AFTER_MS = 600_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** Of faults that are tried again at once, one after the other. */
const MOST_AT_ONCE = 8;

/** @throws Fault CANCELLED, one that no further try helps, or the last one when time is over */
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

/** Waits, or is ended by the signal; neither throws. */
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

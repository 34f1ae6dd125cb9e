import { setTimeout as delay } from "node:timers/promises";
import { Fault } from "#protocol/faults/fault.ts";

/** Time and randomness as the engine sees them; tests pass their own. */
export interface Clock {
  /** Milliseconds that only go up; not a date. */
  now(): number;
  /** @throws Fault CANCELLED (or the signal's own Fault) when the signal fires first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** 0 <= x < 1. */
  random(): number;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: async (requestedMs, signal) => {
    // In a busy process the moment may have passed; Node warns of a negative time on stderr.
    const ms = Math.max(0, requestedMs);
    if (signal === undefined) {
      await delay(ms);
      return;
    }
    try {
      await delay(ms, undefined, { signal });
    } catch {
      throw reasonOf(signal);
    }
  },
  random: Math.random,
};

/** Returns why a signal fired, as a Fault. */
export function reasonOf(signal: AbortSignal): Fault {
  const reason: unknown = signal.reason;
  return reason instanceof Fault ? reason : new Fault("CANCELLED");
}

/** @throws the signal's Fault when it has fired. */
export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw reasonOf(signal);
}

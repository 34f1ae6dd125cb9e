import type { Clock } from "./clock.ts";

/** Sleeps that end early when it rings; a ring while nobody sleeps is kept for the next one. */
export interface Bell {
  ring(): void;
  /** Resolves when it rings, after `ms`, or when the signal fires. */
  wait(ms: number): Promise<void>;
}

export function createBell(clock: Clock, signal: AbortSignal): Bell {
  let wake: (() => void) | null = null;
  let rung = false;
  return {
    ring: () => {
      rung = true;
      wake?.();
    },
    wait: async (ms) => {
      if (!rung) {
        const woken = new Promise<void>((resolve) => {
          wake = resolve;
        });
        await Promise.race([woken, clock.sleep(ms, signal).catch(() => undefined)]);
      }
      wake = null;
      rung = false;
    },
  };
}

import type { Clock } from "./clock.ts";

/** A sleep that `ring` ends early; a `ring` while nobody sleeps ends the next sleep. */
export interface WakeableSleep {
  ring(): void;
  /** Resolves at the next `ring`, after `ms`, or when the signal fires. */
  wait(ms: number): Promise<void>;
}

export function createWakeableSleep(clock: Clock, signal: AbortSignal): WakeableSleep {
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

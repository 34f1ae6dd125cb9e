import type { Clock } from "./clock.ts";

/** A sleep that `wake` ends early; a `wake` while nobody sleeps ends the next sleep. */
export interface WakeableSleep {
  wake(): void;
  /** Resolves at the next `wake`, after `ms`, or when the signal fires. */
  wait(ms: number): Promise<void>;
}

export function createWakeableSleep(clock: Clock, signal: AbortSignal): WakeableSleep {
  let resume: (() => void) | null = null;
  let isWoken = false;
  return {
    wake: () => {
      isWoken = true;
      resume?.();
    },
    wait: async (ms) => {
      if (!isWoken) {
        const woken = new Promise<void>((resolve) => {
          resume = resolve;
        });
        await Promise.race([woken, clock.sleep(ms, signal).catch(() => undefined)]);
      }
      resume = null;
      isWoken = false;
    },
  };
}

/** A bell that many may wait for. It remembers nothing: look first, then wait, without anything asynchronous between. */
export interface Signal {
  /** How many wait now. */
  readonly waiting: number;
  ring(): void;
  /** Until the bell rings, the time is over or `abort` is aborted, whichever comes first. Never fails. */
  wait(options: { timeoutMs: number; abort: AbortSignal }): Promise<void>;
}

export function createSignal(): Signal {
  const waiting = new Set<() => void>();
  return {
    get waiting() {
      return waiting.size;
    },
    ring: () => {
      for (const wake of waiting) wake();
    },
    wait: ({ timeoutMs, abort }) =>
      new Promise((resolve) => {
        if (abort.aborted) {
          resolve();
          return;
        }
        const wake = () => {
          clearTimeout(timer);
          waiting.delete(wake);
          abort.removeEventListener("abort", wake);
          resolve();
        };
        const timer = setTimeout(wake, timeoutMs);
        waiting.add(wake);
        abort.addEventListener("abort", wake);
      }),
  };
}

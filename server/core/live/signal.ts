/**
 * A condition variable for many waiters. A signal is not stored: check the condition, then call `wait` without an `await` in
 * between.
 */
export interface Signal {
  /** Number of waiters. */
  readonly waiting: number;
  notify(): void;
  /** Resolves on the next `notify`, after `timeoutMs`, or when `abort` is aborted. Never rejects. */
  wait(options: { timeoutMs: number; abort: AbortSignal }): Promise<void>;
}

export function createSignal(): Signal {
  const waiting = new Set<() => void>();
  return {
    get waiting() {
      return waiting.size;
    },
    notify: () => {
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

import { Fault } from "#protocol/fault.ts";

/**
 * Sockets can stay open for a quarter of an hour after the other side is gone. The watchdog fires when no byte moved for
 * `idleMs`; time spent waiting for our own limiter or disk does not count.
 */
export interface Watchdog {
  readonly signal: AbortSignal;
  /** A byte moved. */
  touch(): void;
  /** From now on, this long without a byte is too long. */
  expect(idleMs: number): void;
  /** Not waiting for the network; `touch` goes on. */
  pause(): void;
  stop(): void;
}

export function createWatchdog(input: { idleMs: number; outer: AbortSignal; op: string; subject: string }): Watchdog {
  const { outer, op, subject } = input;
  const controller = new AbortController();
  let idleMs = input.idleMs;
  let lastAt = performance.now();
  let paused = false;
  let timer: NodeJS.Timeout | null = null;

  const check = () => {
    const idle = performance.now() - lastAt;
    if (!paused && idle >= idleMs) {
      controller.abort(new Fault("STALLED", { op, subject, detail: `no byte for ${Math.round(idle / 1000)} s` }));
      return;
    }
    timer = setTimeout(check, paused ? idleMs : Math.max(20, idleMs - idle));
  };
  timer = setTimeout(check, idleMs);
  const stopOuter = () => controller.abort(outer.reason);
  if (outer.aborted) stopOuter();
  else outer.addEventListener("abort", stopOuter, { once: true });

  const touch = () => {
    lastAt = performance.now();
    paused = false;
  };
  return {
    signal: controller.signal,
    touch,
    expect: (next) => {
      idleMs = next;
      touch();
      if (timer !== null) clearTimeout(timer);
      timer = setTimeout(check, idleMs);
    },
    pause: () => {
      paused = true;
    },
    stop: () => {
      if (timer !== null) clearTimeout(timer);
      outer.removeEventListener("abort", stopOuter);
    },
  };
}

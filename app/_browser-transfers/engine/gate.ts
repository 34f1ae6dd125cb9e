import { Fault } from "#protocol/faults/fault.ts";
import { FIRST_HELM, steer, type ConcurrencyState } from "./steer.ts";

/** Semaphore for the requests of a page, shared by all its transfers. `steer` sets its width. */
export interface Gate {
  /** Runs the task when a slot is free. @throws Fault CANCELLED when the signal aborts the wait */
  run: <Result>(task: () => Promise<Result>, signal: AbortSignal) => Promise<Result>;
  /** Reports transferred bytes. */
  moved: (bytes: number) => void;
  /** Reports throttling by the store or a failure of the link. */
  trouble: () => void;
  readonly width: () => number;
  readonly running: () => number;
}

const WINDOW_MS = 3_000;

export function createGate(now: () => number): Gate {
  let concurrency: ConcurrencyState = FIRST_HELM;
  let running = 0;
  const waiting: (() => void)[] = [];
  let window = { beganAt: now(), bytes: 0, troubles: 0, wasIdle: false };

  const letIn = (): void => {
    while (running < concurrency.width) {
      const next = waiting.shift();
      if (next === undefined) return;
      running++;
      next();
    }
  };
  const look = (): void => {
    const tookMs = now() - window.beganAt;
    if (tookMs < WINDOW_MS) return;
    const { bytes, troubles, wasIdle } = window;
    // A window with too few requests says nothing about the width.
    if (!wasIdle || troubles > 0) {
      concurrency = steer(concurrency, {
        bytesPerSecond: (bytes / tookMs) * 1000,
        isFull: waiting.length > 0,
        troubles,
      });
    }
    window = { beganAt: now(), bytes: 0, troubles: 0, wasIdle: false };
    letIn();
  };
  const enter = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const leave = (): void => {
        const at = waiting.indexOf(go);
        if (at >= 0) waiting.splice(at, 1);
        reject(new Fault("CANCELLED"));
      };
      const go = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      if (signal.aborted) {
        reject(new Fault("CANCELLED"));
        return;
      }
      signal.addEventListener("abort", leave, { once: true });
      waiting.push(go);
      letIn();
    });

  return {
    run: async (task, signal) => {
      await enter(signal);
      try {
        return await task();
      } finally {
        running--;
        if (waiting.length === 0) window.wasIdle = true;
        letIn();
      }
    },
    moved: (bytes) => {
      window.bytes += bytes;
      look();
    },
    trouble: () => {
      window.troubles++;
      look();
    },
    width: () => concurrency.width,
    running: () => running,
  };
}

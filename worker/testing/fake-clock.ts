import { reasonOf, type Clock } from "../base/clock.ts";

/** For tests: time that stands still until it is moved. Sleepers wake exactly at their moment. */
export interface FakeClock extends Clock {
  /** Advances the time, wakes sleepers in order, and lets their work run. */
  pass(ms: number): Promise<void>;
}

export function createFakeClock(random = () => 0.5): FakeClock {
  let now = 0;
  const sleepers = new Set<{ at: number; wake: () => void }>();
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    now: () => now,
    random,
    sleep: (ms, signal) =>
      new Promise<void>((resolve, reject) => {
        if (signal?.aborted === true) return reject(reasonOf(signal));
        const sleeper = { at: now + ms, wake: resolve };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", () => {
          sleepers.delete(sleeper);
          reject(reasonOf(signal));
        });
      }),
    pass: async (ms) => {
      const until = now + ms;
      await settle();
      for (;;) {
        const next = [...sleepers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        now = Math.max(now, next.at);
        sleepers.delete(next);
        next.wake();
        await settle();
      }
      now = until;
      await settle();
    },
  };
}

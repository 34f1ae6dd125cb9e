import type { Engine } from "../engine.ts";

const LOOK_AGAIN_MS = 60;

/**
 * Parks download lanes (loops that fetch ranges) for which no range is left. One parked lane checks now and then whether
 * another one has become slow.
 */
export interface IdleLanes {
  wait(): Promise<void>;
  /** Lets the next lane check. Called when a lane that found a range is about to take its connection. */
  next(): void;
  wakeIfOver(): void;
  stop(): void;
}

/**
 * Creates the scheduler. `wantsMore`: returns whether one more connection is worth waiting for although the semaphore is
 * full.
 */
export function createIdleLanes(
  engine: Pick<Engine, "semaphore">,
  about: { isOver(): boolean; wantsMore(): boolean },
): IdleLanes {
  const { isOver, wantsMore } = about;
  const sleepers = new Set<() => void>();
  const wake = (count: number) => {
    for (const wakeOne of [...sleepers].slice(0, count)) wakeOne();
  };
  let timer: NodeJS.Timeout | null = null;
  const look = () => {
    const { semaphore } = engine;
    if (semaphore.waiting === 0 && (semaphore.width > semaphore.held || wantsMore())) wake(1);
  };
  return {
    wait: () =>
      isOver()
        ? Promise.resolve()
        : new Promise<void>((resolve) => {
            timer ??= setInterval(look, LOOK_AGAIN_MS).unref();
            const wakeOne = () => {
              sleepers.delete(wakeOne);
              resolve();
            };
            sleepers.add(wakeOne);
          }),
    next: () => {
      if (sleepers.size > 0) setImmediate(look);
    },
    wakeIfOver: () => {
      if (isOver()) wake(sleepers.size);
    },
    stop: () => {
      if (timer !== null) clearInterval(timer);
    },
  };
}

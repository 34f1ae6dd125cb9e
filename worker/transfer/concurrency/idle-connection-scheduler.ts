import type { Engine } from "../engine.ts";

const LOOK_AGAIN_MS = 60;

/** Those for whom there is nothing to fetch: one of them looks again now and then, whether somebody has become slow. */
export interface IdleLanes {
  wait(): Promise<void>;
  /** One of them found something: the next may look, once that one has its connection. */
  next(): void;
  wakeIfOver(): void;
  stop(): void;
}

/** `wantsMore`: one more connection would be worth it, so that somebody waits for one to be allowed. */
export function createIdleLanes(
  engine: Pick<Engine, "gate">,
  about: { isOver(): boolean; wantsMore(): boolean },
): IdleLanes {
  const { isOver, wantsMore } = about;
  const sleepers = new Set<() => void>();
  const wake = (count: number) => {
    for (const wakeOne of [...sleepers].slice(0, count)) wakeOne();
  };
  let timer: NodeJS.Timeout | null = null;
  const look = () => {
    const { gate } = engine;
    if (gate.waiting === 0 && (gate.width > gate.held || wantsMore())) wake(1);
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

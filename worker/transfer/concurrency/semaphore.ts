import { reasonOf, throwIfAborted } from "#worker/base/clock.ts";
import { whenAborted } from "#worker/base/when-aborted.ts";

/**
 * Semaphore for connections. Its width may change in use: no holder is evicted, and the next requests wait until there is
 * room again. Small files (a single part) have their own queue. They alternate with the parts of large files, and two of them
 * always get in. So a file of 5 kB never waits behind one of 50 GB.
 */
export interface Semaphore {
  run<T>(wants: Wants, work: () => Promise<T>): Promise<T>;
  setWidth(width: number): void;
  /** Sets the listener that is called at the start of each `run`. */
  onEntered(listener: () => void): void;
  /**
   * Calls `listener` when more places are held than the width allows: holders that only wait there should leave. Returns a
   * function that removes the listener.
   */
  onTooWide(listener: () => void): () => void;
  readonly width: number;
  readonly held: number;
  readonly waiting: number;
  readonly waitingSmall: number;
  /**
   * Announces that more requests follow although none waits: an input is still being read. Returns a function to call when
   * all have come.
   */
  expectMore(): () => void;
  /** Whether all remaining requests already hold a place. */
  readonly isEnding: boolean;
  /** Whether only small files hold places or wait. */
  readonly isAllSmall: boolean;
}

export interface Wants {
  signal: AbortSignal;
  size: "small" | "large";
}

/** Small files that get in even when large ones hold every place. */
const SPARE_FOR_SMALL = 2;

interface Line {
  held: number;
  waiting: Set<() => void>;
}

export function createSemaphore(initial: number): Semaphore {
  let width = initial;
  const lines: Record<Wants["size"], Line> = {
    small: { held: 0, waiting: new Set() },
    large: { held: 0, waiting: new Set() },
  };
  const { small, large } = lines;
  let lastWasSmall = false;
  let entered: () => void = () => undefined;
  const tooWide = new Set<() => void>();
  let awaited = 0;

  const held = () => small.held + large.held;
  const hasRoom = (size: Wants["size"]): boolean =>
    held() < width || (size === "small" && small.held < SPARE_FOR_SMALL);
  /** Admits from both queues in turn while there is room; the spare places are for small files only. */
  const admit = () => {
    for (;;) {
      const wantsSmall = small.waiting.size > 0 && (!lastWasSmall || large.waiting.size === 0);
      const size = wantsSmall ? "small" : "large";
      const admitted = letIn(size) || letIn(size === "small" ? "large" : "small");
      if (!admitted) return;
    }
  };
  const letIn = (size: Wants["size"]): boolean => {
    const line = lines[size];
    const [go] = line.waiting;
    if (go === undefined || !hasRoom(size)) return false;
    line.waiting.delete(go);
    line.held++;
    lastWasSmall = size === "small";
    go();
    return true;
  };
  const enter = ({ signal, size }: Wants) =>
    new Promise<void>((resolve, reject) => {
      const { waiting } = lines[size];
      const go = () => {
        forget();
        resolve();
      };
      const forget = whenAborted(signal, () => {
        waiting.delete(go);
        reject(reasonOf(signal));
      });
      waiting.add(go);
      admit();
    });
  return {
    get width() {
      return width;
    },
    get held() {
      return held();
    },
    get waiting() {
      return small.waiting.size + large.waiting.size;
    },
    expectMore: () => {
      let counts = 1;
      awaited++;
      return () => {
        awaited -= counts;
        counts = 0;
      };
    },
    get isEnding() {
      return awaited + small.waiting.size + large.waiting.size === 0;
    },
    onEntered: (listener) => {
      entered = listener;
    },
    onTooWide: (listener) => {
      tooWide.add(listener);
      return () => void tooWide.delete(listener);
    },
    get waitingSmall() {
      return small.waiting.size;
    },
    get isAllSmall() {
      return small.held + small.waiting.size > 0 && large.held + large.waiting.size === 0;
    },
    setWidth: (next) => {
      width = Math.max(1, next);
      if (held() > width) for (const listener of tooWide) listener();
      admit();
    },
    run: async (wants, work) => {
      throwIfAborted(wants.signal);
      entered();
      await enter(wants);
      try {
        return await work();
      } finally {
        lines[wants.size].held--;
        admit();
      }
    },
  };
}

import { reasonOf, throwIfAborted } from "#worker/base/clock.ts";
import { whenAborted } from "#worker/base/when-aborted.ts";

/**
 * Who may use a connection. Its width may change while it is in use: nobody is thrown out, and the next ones wait until
 * there is room again. Small files (a single part) have a line of their own: they take turns with the parts of large
 * files, and two of them always get through, so that a file of 5 kB never waits behind one of 50 GB.
 */
export interface Gate {
  run<T>(wants: Wants, work: () => Promise<T>): Promise<T>;
  setWidth(width: number): void;
  /** Told whenever somebody asks to be let in. */
  onEntered(listener: () => void): void;
  /**
   * Told when fewer are let in than hold a place: whoever only waits there shall make room. Returns how to be told no more.
   */
  onTooWide(listener: () => void): () => void;
  readonly width: number;
  readonly held: number;
  readonly waiting: number;
  readonly waitingSmall: number;
  /** More is to come although nobody waits: an input is still being read. Call what is returned when all has come. */
  expectMore(): () => void;
  /** All that is still to move holds a place already. */
  readonly isEnding: boolean;
  /** Nothing but small files moves or waits. */
  readonly isAllSmall: boolean;
}

export interface Wants {
  signal: AbortSignal;
  size: "small" | "large";
}

/** Small files get through even when large ones hold every place. */
const SPARE_FOR_SMALL = 2;

interface Line {
  held: number;
  waiting: Set<() => void>;
}

export function createGate(initial: number): Gate {
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
  /** Both lines in turns while there is room; the spare places only for the small ones. */
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

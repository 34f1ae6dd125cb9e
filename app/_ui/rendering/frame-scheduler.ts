/**
 * Runs one task per animation frame. Updates that arrive together from several sources would otherwise share one frame and
 * delay it. Without frames, as on a hidden page, all tasks run together after a timeout.
 */

/** Hidden pages get no animation frames; visible ones get them much sooner than this. */
const WITHOUT_FRAMES_MS = 250;

type NextFrame = (run: (isSeen: boolean) => void) => void;

const nextFrame: NextFrame = (run) => {
  const frame = requestAnimationFrame(() => {
    clearTimeout(timer);
    run(true);
  });
  const timer = setTimeout(() => {
    cancelAnimationFrame(frame);
    run(false);
  }, WITHOUT_FRAMES_MS);
};

export class FrameScheduler {
  readonly #waiting = new Map<string, () => void>();
  readonly #nextFrame: NextFrame;
  #isAsked = false;

  constructor(next: NextFrame = nextFrame) {
    this.#nextFrame = next;
  }

  /** Queues a task for a frame of its own, first in, first out. A task already queued under this name is kept. */
  take(name: string, work: () => void): void {
    if (!this.#waiting.has(name)) this.#waiting.set(name, work);
    this.#ask();
  }

  #ask(): void {
    if (this.#isAsked || this.#waiting.size === 0) return;
    this.#isAsked = true;
    this.#nextFrame(this.#go);
  }

  readonly #go = (isSeen: boolean): void => {
    this.#isAsked = false;
    try {
      for (const [name, work] of [...this.#waiting].slice(0, isSeen ? 1 : undefined)) {
        this.#waiting.delete(name);
        work();
      }
    } finally {
      this.#ask();
    }
  };
}

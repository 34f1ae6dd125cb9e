/**
 * Draws one piece of work in each frame. What comes in the same moment from several sides would else be drawn together, and
 * that frame would be late. Where no frames come, as in a page that nobody sees, all of it is done a moment later.
 */

/** A page that is not seen gets no frames; one that is seen gets them much sooner than this. */
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

export class Turns {
  readonly #waiting = new Map<string, () => void>();
  readonly #nextFrame: NextFrame;
  #isAsked = false;

  constructor(next: NextFrame = nextFrame) {
    this.#nextFrame = next;
  }

  /** Does it in a frame of its own, in the order in which turns were taken. One that waits already under this name stays. */
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

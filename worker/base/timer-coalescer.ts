/**
 * Looks at what goes on that can as well happen a little sooner or later all happen in the same moments. To wake a process that
 * sleeps costs more than most looks do: what it needs is in no cache any more.
 */
export interface Beats {
  /** Calls `go` once, in about `ms`. Returns how not to. Nothing of this keeps the process alive. */
  after(ms: number, go: () => void): () => void;
  /** Calls `look` about every `ms` until that is ended by what is returned. */
  every(ms: number, look: () => void): () => void;
}

/** What is wanted sooner is wanted then; what may come later comes with every second beat, every fourth, or every eighth. */
const BEAT_MS = 125;
const LONGEST_BEAT_MS = 8 * BEAT_MS;
/** A timer may come a little early; what is due by then anyhow comes with it. */
const SLACK_MS = 2;

interface Due {
  at: number;
  go(): void;
}

function beatNear(at: number, ms: number): number {
  if (ms < BEAT_MS) return at;
  let beatMs = BEAT_MS;
  while (2 * beatMs <= Math.min(ms, LONGEST_BEAT_MS)) beatMs *= 2;
  return Math.round(at / beatMs) * beatMs;
}

export function createBeats(): Beats {
  const waiting = new Set<Due>();
  let timer: NodeJS.Timeout | null = null;
  let timerAt = Infinity;
  let isRunning = false;

  const schedule = () => {
    let at = Infinity;
    for (const one of waiting) at = Math.min(at, one.at);
    if (at === timerAt) return;
    if (timer !== null) clearTimeout(timer);
    timerAt = at;
    timer = at === Infinity ? null : setTimeout(run, Math.max(1, Math.ceil(at - performance.now()))).unref();
  };
  const run = () => {
    timer = null;
    timerAt = Infinity;
    isRunning = true;
    try {
      const until = performance.now() + SLACK_MS;
      // What is begun meanwhile waits for its own time.
      for (const one of [...waiting].filter(({ at }) => at <= until)) if (waiting.delete(one)) one.go();
    } finally {
      isRunning = false;
      schedule();
    }
  };
  const after = (ms: number, go: () => void) => {
    const due = { at: beatNear(performance.now() + ms, ms), go };
    waiting.add(due);
    if (!isRunning && due.at < timerAt) schedule();
    return () => {
      if (waiting.delete(due) && !isRunning && waiting.size === 0) schedule();
    };
  };
  return {
    after,
    every: (ms, look) => {
      let stop = after(ms, again);
      function again() {
        stop = after(ms, again);
        look();
      }
      return () => stop();
    },
  };
}

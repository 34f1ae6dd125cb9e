/**
 * Coalesces periodic checks onto shared ticks, so that the process wakes once for all of them. Waking a sleeping process costs
 * more than most checks do, because its data is in no cache any more.
 */
export interface TimerCoalescer {
  /** Calls `go` once after about `ms`. Returns a function that cancels it. Does not keep the process alive. */
  after(ms: number, go: () => void): () => void;
  /** Calls `look` about every `ms` until the returned function is called. */
  every(ms: number, look: () => void): () => void;
}

/** Shortest tick. Shorter delays are exact; longer ones end on a tick, or on every second, fourth or eighth. */
const BEAT_MS = 125;
const LONGEST_BEAT_MS = 8 * BEAT_MS;
/** Timers may fire a little early; a check that is due within this time runs with them. */
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

export function createTimerCoalescer(): TimerCoalescer {
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
      // Checks that are added meanwhile wait for their own time.
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

/** RTT estimator. Samples: TCP handshakes, and requests without a body up to the first byte of the answer. */
export interface RttEstimator {
  add(ms: number): void;
  /** Returns the minimum of the last samples within five minutes, ms; null when there was none. Cheap. */
  leastMs(): number | null;
  /** Records how long after the kernel had its request an answer began. */
  answered(ms: number): void;
  /** Returns how much longer than a round trip answers take lately, ms: the wait in queues, on the way or at the store. */
  waitMs(): number;
}

const WINDOW_MS = 5 * 60_000;
const MOST = 32;
/** Weight of a new answer in the moving average. */
const SHARE = 1 / 16;

export function createRttEstimator(now: () => number, onTrip: () => void = () => undefined): RttEstimator {
  const samples: { at: number; ms: number }[] = [];
  let least: number | null = null;
  let goodUntil = 0;
  let answerMs: number | null = null;
  return {
    add: (ms) => {
      const at = now();
      let gone = Infinity;
      while (samples.length >= MOST || (samples[0]?.at ?? at) <= at - WINDOW_MS) {
        gone = Math.min(gone, samples.shift()?.ms ?? Infinity);
      }
      samples.push({ at, ms });
      // Samples are many, so the minimum is searched again only when the old one has left the window.
      if (least === null || gone <= least) least = samples.reduce((sum, trip) => Math.min(sum, trip.ms), Infinity);
      else least = Math.min(least, ms);
      goodUntil = at + WINDOW_MS;
      onTrip();
    },
    leastMs: () => (now() < goodUntil ? least : null),
    answered: (ms) => {
      answerMs = answerMs === null ? ms : answerMs + (ms - answerMs) * SHARE;
    },
    waitMs: () => Math.max(0, (answerMs ?? 0) - (least ?? Infinity)),
  };
}

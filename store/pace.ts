/** Speed limits: a pacer lets so many bytes a second through, and a paced stream is cut small enough to flow evenly. */

/** Waits until that many more bytes may pass. */
export type Pacer = { readonly bytesPerSecond: number; readonly take: (bytes: number) => Promise<void> };

/** What a pacer needs of time, so that a test can drive it. */
export type PaceClock = { readonly now: () => number; readonly sleep: (ms: number) => Promise<void> };

/** The real clock. */
const REAL_PACE_CLOCK: PaceClock = {
  now: () => performance.now(),
  sleep: (ms) =>
    new Promise((resolve) => {
      setTimeout(resolve, ms);
    }),
};

const BURST_SECONDS = 0.05;

/** A pacer; everything that shares it shares the speed. */
export function createPacer(bytesPerSecond: number, clock: PaceClock = REAL_PACE_CLOCK): Pacer {
  let freeAtMs = clock.now();
  return {
    bytesPerSecond,
    async take(bytes) {
      const nowMs = clock.now();
      freeAtMs = Math.max(freeAtMs, nowMs - BURST_SECONDS * 1000) + (bytes / bytesPerSecond) * 1000;
      const waitMs = freeAtMs - nowMs;
      if (waitMs > 1) await clock.sleep(waitMs);
    },
  };
}

/** The same bytes, no faster than every pacer allows. */
export async function* paced(source: AsyncIterable<Buffer>, pacers: readonly Pacer[]): AsyncGenerator<Buffer> {
  const slowest = Math.min(...pacers.map((pacer) => pacer.bytesPerSecond));
  const pieceBytes = Math.max(1024, Math.min(64 * 1024, Math.floor(slowest * BURST_SECONDS)));
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      const piece = chunk.subarray(at, at + pieceBytes);
      for (const pacer of pacers) await pacer.take(piece.length);
      yield piece;
    }
  }
}

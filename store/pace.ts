/** Speed limits: a pacer allows a number of bytes per second, and a paced stream is cut into small pieces to flow evenly. */

/** `take` waits until this many more bytes may pass. */
export type Pacer = { readonly bytesPerSecond: number; readonly take: (bytes: number) => Promise<void> };

/** The pacer's clock, replaceable in tests. */
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

/** Returns a pacer; all its users share the speed. */
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

/** Passes bytes on no faster than every pacer allows. */
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

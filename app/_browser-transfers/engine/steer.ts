/**
 * Controls the number of parallel requests of a page. It starts at 6, which browsers open to one host under HTTP/1.1. It rises
 * while each step brings more throughput, goes back after a step that does not, and halves at trouble. Pure.
 */

export const FIRST_WIDTH = 6;
const MOST_WIDTH = 24;
const STEP = 2;
/** Smallest gain in throughput for which a step is kept. */
const WORTH_IT = 1.08;
/** Windows before a step that did not help is tried again. */
const PATIENCE = 8;

export interface ConcurrencyState {
  width: number;
  /** Throughput before the last step up, in bytes per second; null when no step is on trial. */
  before: number | null;
  /** Windows until the next step up. */
  rest: number;
}

export interface Sample {
  bytesPerSecond: number;
  /** Requests were queued, so more could have run in parallel. */
  isFull: boolean;
  /** Throttled, stalled or broken requests since the last sample. */
  troubles: number;
}

export const FIRST_HELM: ConcurrencyState = { width: FIRST_WIDTH, before: null, rest: 1 };

export function steer(concurrency: ConcurrencyState, { bytesPerSecond, isFull, troubles }: Sample): ConcurrencyState {
  const { width, before, rest } = concurrency;
  if (troubles > 0) return { width: Math.max(1, Math.floor(width / 2)), before: null, rest: 2 };
  if (before !== null) {
    const helped = bytesPerSecond >= before * WORTH_IT;
    if (!helped) return { width: width - STEP, before: null, rest: PATIENCE };
  }
  if (!isFull || rest > 0) return { width, before: null, rest: Math.max(0, rest - 1) };
  if (width >= MOST_WIDTH) return { width, before: null, rest: PATIENCE };
  return { width: Math.min(MOST_WIDTH, width + STEP), before: bytesPerSecond, rest: 0 };
}

/**
 * How many requests a page has under way at once. Starts at 6, which is what a browser opens to one host under HTTP/1.1;
 * goes on while each step up brings more bytes, back when it does not, and to half at trouble. Pure.
 */

export const FIRST_WIDTH = 6;
const MOST_WIDTH = 24;
const STEP = 2;
/** A step up has to bring at least this much more. */
const WORTH_IT = 1.08;
/** So many windows pass before what did not help is tried again. */
const PATIENCE = 8;

export interface Helm {
  width: number;
  /** Rate before the last step up; null when none is on trial. */
  before: number | null;
  /** Windows left until the next step up. */
  rest: number;
}

export interface Sample {
  bytesPerSecond: number;
  /** Requests waited for their turn all the time: more of them could have been under way. */
  isFull: boolean;
  /** Throttled, stalled or cut off since the last sample. */
  troubles: number;
}

export const FIRST_HELM: Helm = { width: FIRST_WIDTH, before: null, rest: 1 };

export function steer(helm: Helm, { bytesPerSecond, isFull, troubles }: Sample): Helm {
  const { width, before, rest } = helm;
  if (troubles > 0) return { width: Math.max(1, Math.floor(width / 2)), before: null, rest: 2 };
  if (before !== null) {
    const helped = bytesPerSecond >= before * WORTH_IT;
    if (!helped) return { width: width - STEP, before: null, rest: PATIENCE };
  }
  if (!isFull || rest > 0) return { width, before: null, rest: Math.max(0, rest - 1) };
  if (width >= MOST_WIDTH) return { width, before: null, rest: PATIENCE };
  return { width: Math.min(MOST_WIDTH, width + STEP), before: bytesPerSecond, rest: 0 };
}

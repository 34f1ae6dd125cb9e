import type { Capture } from "../capture/capture.ts";
import { byRank } from "../capture/ledger.ts";

/** What moves, then what waits for its turn, then what waits for a person. */
const TURN: readonly Capture["state"][] = ["running", "waiting", "paused", "failed"];

/**
 * Per run the bytes that the uplink has to carry until the last that was captured of it is safe: its own, and those of other
 * runs whose turn is before. `movedOf`: how much of a capture the store has.
 */
export function sumAhead(captures: readonly Capture[], movedOf: (capture: Capture) => number): Map<string, number> {
  const ahead = new Map<string, number>();
  let bytes = 0;
  for (const state of TURN) {
    for (const item of captures.filter((one) => one.state === state).sort(byRank)) {
      bytes += Math.max(0, item.sizeBytes - movedOf(item));
      ahead.set(item.run, bytes);
    }
  }
  return ahead;
}

import type { Capture } from "../capture/capture.ts";
import { byRank } from "../capture/ledger.ts";

/** Order of sending: running, then waiting for its turn, then waiting for a person. */
const TURN: readonly Capture["state"][] = ["running", "waiting", "paused", "failed"];

/**
 * Returns for each run the bytes to send until its last capture is safe, with captures of other runs that go before. `movedOf`:
 * bytes of a capture that the store has.
 */
export function bytesAhead(captures: readonly Capture[], movedOf: (capture: Capture) => number): Map<string, number> {
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

/**
 * Decides when a node reconnects to a hub that was away. A restarted hub must not meet its whole fleet in the same second.
 * The more nodes there are, the longer the window in which they return. Pure.
 */

/** Reconnections that a hub with one core can serve beside its other work. */
const RETURNS_PER_SECOND = 100;
const SHORTEST_MS = 500;
const LONGEST_MS = 60_000;
/** Longest wait between attempts while the hub stays away, unless the return window is longer. */
const KNOCK_MS = 15_000;
const LEAST_WAIT_MS = 50;

/** Returns the window (ms) over which this many nodes reconnect. */
export const returnWindowMs = (nodes: number): number =>
  Math.min(LONGEST_MS, Math.max(SHORTEST_MS, Math.ceil((nodes * 1_000) / RETURNS_PER_SECOND)));

/** Returns the wait (ms) before the next attempt after `tries` failures: exponential backoff with full jitter. */
export function returnWaitMs(tries: number, about: { withinMs: number | undefined; random: () => number }): number {
  const { withinMs = SHORTEST_MS, random } = about;
  const most = Math.min(Math.max(KNOCK_MS, withinMs), withinMs * 2 ** Math.min(tries, 10));
  return LEAST_WAIT_MS + random() * most;
}

/**
 * When a node comes back to a hub that was away. A hub that restarts is not met by its whole fleet in the same second: the more
 * nodes there are, the longer the time over which they come. Pure.
 */

/** What a hub with one core takes beside its other work. */
const RETURNS_PER_SECOND = 100;
const SHORTEST_MS = 500;
const LONGEST_MS = 60_000;
/** While the hub stays away, each node knocks about so often. */
const KNOCK_MS = 15_000;
const LEAST_WAIT_MS = 50;

/** Over how long so many nodes come back. */
export const returnWindowMs = (nodes: number): number =>
  Math.min(LONGEST_MS, Math.max(SHORTEST_MS, Math.ceil((nodes * 1_000) / RETURNS_PER_SECOND)));

/** How long a node waits before it tries again, having failed `tries` times: full jitter over a time that doubles. */
export function returnWaitMs(tries: number, about: { withinMs: number | undefined; random: () => number }): number {
  const { withinMs = SHORTEST_MS, random } = about;
  const most = Math.min(Math.max(KNOCK_MS, withinMs), withinMs * 2 ** Math.min(tries, 10));
  return LEAST_WAIT_MS + random() * most;
}

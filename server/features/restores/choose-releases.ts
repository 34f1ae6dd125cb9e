/**
 * A restore that waits for its turn. Each bucket profile runs a limited number of restores at once. Requests share the places
 * by round robin: the next place goes to the request that was served longest ago, or created first if it was never served. So a
 * request to a thousand nodes delays nobody, and each later request delays it at most once. Within a request the nodes keep
 * their order; a node that is unreachable now is skipped until it returns.
 */
export interface Waiting {
  transferId: string;
  batchId: string;
  profileId: string;
  nodeId: string;
  /** Epoch ms. */
  createdAt: number;
}

interface Present {
  /** Waiting restores, oldest first. */
  waiting: readonly Waiting[];
  /** Released restores in progress, on reachable nodes. */
  moving: readonly { profileId: string; nodeId: string }[];
  capOf(profileId: string): number;
  /** Returns when a request was served last, epoch ms. */
  servedAt(batchId: string): number | null;
  canHear(nodeId: string): boolean;
  /** Most restores of one profile to start at once: all begin with the same request to the hub. */
  most: number;
  now: number;
}

/** Returns the restores that start now, in order. A node gets one at a time. */
export function chooseReleases(present: Present): Waiting[] {
  const { waiting, moving, capOf, servedAt, canHear, most, now } = present;
  const busy = new Set(moving.map(({ nodeId }) => nodeId));
  const chosen: Waiting[] = [];
  for (const profileId of new Set(waiting.map((one) => one.profileId))) {
    const queues = new Map<string, Waiting[]>();
    for (const one of waiting) {
      if (one.profileId !== profileId || !canHear(one.nodeId)) continue;
      const queue = queues.get(one.batchId);
      if (queue === undefined) queues.set(one.batchId, [one]);
      else queue.push(one);
    }
    const turns = new Map([...queues].map(([id, [first]]) => [id, servedAt(id) ?? first?.createdAt ?? now]));
    let free = Math.min(most, capOf(profileId) - moving.filter((one) => one.profileId === profileId).length);
    for (let served = 1; free > 0 && queues.size > 0;) {
      const [id] = [...queues.keys()].reduce(
        ([best, at], other) => {
          const otherAt = turns.get(other) ?? now;
          return otherAt < at ? [other, otherAt] : [best, at];
        },
        ["", Infinity] as [string, number],
      );
      const queue = queues.get(id) ?? [];
      const next = queue.find(({ nodeId }) => !busy.has(nodeId));
      if (next === undefined) {
        queues.delete(id);
        continue;
      }
      busy.add(next.nodeId);
      chosen.push(next);
      queue.splice(queue.indexOf(next), 1);
      turns.set(id, now + served++);
      free--;
    }
  }
  return chosen;
}

/**
 * Whose turn it is. Each bucket profile lets so many restores go at a time. Requests take turns: the next place goes to the
 * one that was served longest ago (one that was never served counts from when it was made), so a request to a thousand
 * nodes holds up nobody, and is itself held up by each later one at most once. Within a request the order is that of the
 * nodes; one that cannot be reached now is passed over until it can.
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
  /** Oldest first. */
  waiting: readonly Waiting[];
  /** Those that go on now, on nodes that are heard. */
  moving: readonly { profileId: string; nodeId: string }[];
  capOf(profileId: string): number;
  /** When a request was served last, epoch ms. */
  servedAt(batchId: string): number | null;
  canHear(nodeId: string): boolean;
  /** Most that start at once of one profile: they all begin with the same question to the same hub. */
  most: number;
  now: number;
}

/** Those that start now, in their order. A node gets one at a time. */
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

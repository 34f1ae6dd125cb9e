import type { Hub } from "#server/core/api/hub.ts";
import type { Nothing, QueueMemory } from "#server/core/live/job-memory.ts";
import type { LiveNode } from "#server/core/live/live-node.ts";
import type { Means } from "./choose-job.ts";

/**
 * Remembers which kinds of nodes found no job that fits, so that idle nodes that ask again do not search a long queue each time.
 * Every change of a job notifies its queue, which increments the queue's version.
 */

/** Bounds the age of a result, because some changes notify no queue, for example a new bucket of a run. */
export const LONGEST_KNOWN_MS = 60_000;
const MOST_KINDS = 1_000;

const kindOf = ({ profileId, mayWrite, facts }: LiveNode): string =>
  JSON.stringify([profileId, mayWrite, Object.entries(facts.labels).toSorted(([a], [b]) => (a < b ? -1 : 1))]);

/** Returns what was found before for such a node; null when it is not known that nothing fits. */
export function findNothing(
  { now }: Pick<Hub, "now">,
  queue: QueueMemory,
  { node, means }: { node: LiveNode; means: Means },
): Nothing | null {
  const kind = kindOf(node);
  const covers = ({ version, until, nodeId, most, ...known }: Nothing): boolean =>
    version === queue.version &&
    until > now() &&
    known.kind === kind &&
    (nodeId === null || nodeId === node.id) &&
    most.gpuBytes >= means.gpuBytes &&
    most.diskBytes >= means.diskBytes &&
    most.uplink >= means.uplink &&
    (most.movesBytes || !means.movesBytes);
  return queue.nothing.find(covers) ?? null;
}

/** Notes that no job fitted a node at this version of the queue. */
export async function noteNothing(
  hub: Pick<Hub, "db" | "now">,
  queue: QueueMemory,
  found: { node: LiveNode; means: Means; version: number; why: string | null },
): Promise<void> {
  const { node, means, version, why } = found;
  const now = hub.now();
  const ban = await hub.db.jobBan.findFirst({
    where: { nodeId: node.id, until: { gt: new Date(now) } },
    select: { until: true },
    orderBy: { until: "asc" },
  });
  const until = Math.min(ban?.until.getTime() ?? Infinity, now + LONGEST_KNOWN_MS);
  const known = queue.nothing.filter((one) => one.version === version && one.until > now);
  const nodeId = ban === null ? null : node.id;
  queue.nothing = [...known.slice(1 - MOST_KINDS), { version, until, kind: kindOf(node), nodeId, most: means, why }];
}

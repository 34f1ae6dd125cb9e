import { fitsPattern } from "#protocol/base/scope.ts";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { LiveRule } from "#server/core/api/ports/alert-memory.ts";
import type { Finding } from "./find-live.ts";
import { isMeant } from "./is-meant.ts";

/** Evaluates the alert rules about jobs and their queues. */

const MOST = 1_000;

/** Finds jobs that failed and that nobody retried. */
export async function failedJobs(hub: Hub, rule: LiveRule, withinMs: number): Promise<Finding[]> {
  const rows = await hub.db.job.findMany({
    where: { state: "failed", endedAt: { gte: new Date(hub.now() - withinMs) } },
    select: { id: true, name: true, run: true, nodeId: true, reason: true, endedAt: true },
    orderBy: { endedAt: "desc" },
    take: MOST,
  });
  return rows
    .filter(({ nodeId, run }) =>
      nodeId === null ? fitsPattern(run, rule.scope.runs) : isMeant(hub, rule, { nodeId, run }),
    )
    .map(({ id, name, run, nodeId, reason, endedAt }) => {
      const nodeName = hub.live.nodes.get(nodeId ?? "")?.name ?? null;
      const why = reason === null ? "" : `: ${visibleText(reason)}`;
      const job = visibleText(name);
      const text = nodeName === null ? `The job ${job} failed${why}` : `failed the job ${job} for the last time${why}`;
      return { subject: id, nodeId, nodeName, run, text, since: endedAt?.getTime() ?? hub.now() };
    });
}

/** Finds queues with due jobs of which none runs and none was handed out for this long. The scope of a rule does not apply. */
export async function stuckQueues(hub: Hub, longerThanMs: number): Promise<Finding[]> {
  const since = new Date(hub.now() - longerThanMs);
  const waiting = await hub.db.job.groupBy({
    by: ["queue"],
    where: { state: "waiting", dueAt: { lt: since } },
    _count: true,
    _min: { dueAt: true },
  });
  const found: Finding[] = [];
  for (const { queue, _count: count, _min: oldest } of waiting) {
    const paused = await hub.db.jobQueue.count({ where: { name: queue, pausedAt: { not: null } } });
    if (paused > 0) continue;
    const moves = { queue, OR: [{ state: "running" }, { startedAt: { gte: since } }] };
    if ((await hub.db.job.findFirst({ where: moves, select: { id: true } })) !== null) continue;
    const jobs = count === 1 ? "one job waits" : `${formatCount(count)} jobs wait`;
    const text = `The queue ${queue} does not move: ${jobs}, and no node took one for ${formatDuration(longerThanMs)}`;
    found.push({
      subject: queue,
      nodeId: null,
      nodeName: null,
      run: null,
      text,
      since: oldest.dueAt?.getTime() ?? hub.now(),
    });
  }
  return found;
}

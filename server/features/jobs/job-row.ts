import { attemptOutcome, jobState } from "#protocol/jobs/job-states.ts";
import type { JobAttemptRow, JobRow } from "#protocol/jobs/job-views.ts";
import type { Job, JobAttempt, JobLabel } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";

/** What a row of a list needs: not the spec, which may be long. */
export type ListedJob = Omit<Job, "spec"> & { labels: Pick<JobLabel, "name" | "value">[] };

const numberOf = (step: bigint | null): number | null => (step === null ? null : Number(step));

const nodeOf = (hub: Hub, id: string): { id: string; name: string } => ({
  id,
  name: hub.live.nodes.get(id)?.name ?? "a node",
});

export function jobRowOf(hub: Hub, job: ListedJob): JobRow {
  const state = jobState.safeParse(job.state).data ?? "failed";
  return {
    id: job.id,
    number: job.seq,
    queue: job.queue,
    name: job.name,
    run: job.run,
    state,
    priority: job.priority,
    labels: Object.fromEntries(job.labels.map(({ name, value }) => [name, value])),
    owner: job.owner,
    failures: job.failures,
    mostFailures: job.mostFailures,
    attempts: job.attempts,
    node: job.nodeId === null ? null : nodeOf(hub, job.nodeId),
    reason: job.reason,
    createdAt: job.createdAt.getTime(),
    dueAt: state === "waiting" ? job.dueAt.getTime() : null,
    startedAt: job.startedAt?.getTime() ?? null,
    endedAt: job.endedAt?.getTime() ?? null,
  };
}

export const attemptRowOf = (hub: Hub, row: JobAttempt): JobAttemptRow => ({
  attempt: row.attempt,
  node: nodeOf(hub, row.nodeId),
  epoch: row.epoch,
  startedAt: row.startedAt.getTime(),
  endedAt: row.endedAt?.getTime() ?? null,
  outcome: attemptOutcome.safeParse(row.outcome).data ?? null,
  reason: row.reason,
  exitCode: row.exitCode,
  signal: row.signal,
  fromStep: numberOf(row.fromStep),
  toStep: numberOf(row.toStep),
  safeStep: numberOf(row.safeStep),
});

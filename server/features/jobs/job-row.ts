import { attemptOutcome, jobState } from "#protocol/jobs/job-states.ts";
import type { JobAttemptRow, JobKelpie, JobLink, JobPlace, JobRow } from "#protocol/jobs/job-views.ts";
import type { Job, JobAttempt, JobLabel, KelpieJob } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { isHeld } from "./order/follow-jobs.ts";

/** Columns of a row in a list: not the spec, which may be long. */
export type ListedJob = Omit<Job, "spec"> & {
  labels: Pick<JobLabel, "name" | "value">[];
  kelpie: Pick<KelpieJob, "machine" | "heartbeatAt" | "heartbeats"> | null;
};

/** Relations that a list reads beside the columns of a job. */
export const LISTED = {
  labels: true,
  kelpie: { select: { machine: true, heartbeatAt: true, heartbeats: true } },
} as const;

const numberOf = (step: bigint | null): number | null => (step === null ? null : Number(step));

const nodeOf = (hub: Hub, id: string): { id: string; name: string } => ({
  id,
  name: hub.live.nodes.get(id)?.name ?? "a node",
});

const kelpieOf = ({ kelpie }: ListedJob): JobKelpie | null =>
  kelpie === null ? null : { ...kelpie, heartbeatAt: kelpie.heartbeatAt?.getTime() ?? null };

/** Returns where an attempt runs. */
export const placeOf = (hub: Hub, { nodeId, machine }: Pick<JobAttempt, "nodeId" | "machine">): JobPlace =>
  nodeId === null ? { id: null, name: machine ?? "a machine" } : nodeOf(hub, nodeId);

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
    kelpie: kelpieOf(job),
    reason: job.reason,
    createdAt: job.createdAt.getTime(),
    dueAt: state === "waiting" && !isHeld(job) ? job.dueAt.getTime() : null,
    startedAt: job.startedAt?.getTime() ?? null,
    endedAt: job.endedAt?.getTime() ?? null,
  };
}

/** Returns a job that goes before or after another one. */
export const linkOf = ({ id, name, state }: Pick<Job, "id" | "name" | "state">): JobLink => ({
  id,
  name,
  state: jobState.safeParse(state).data ?? "failed",
});

export const attemptRowOf = (hub: Hub, row: JobAttempt): JobAttemptRow => ({
  attempt: row.attempt,
  node: placeOf(hub, row),
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

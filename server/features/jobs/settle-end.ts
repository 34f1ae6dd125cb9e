import { DEFAULT_POLICY, jobSpec } from "#protocol/jobs/job-spec.ts";
import { judgeEnd, type AttemptEnd, type EndVerdict } from "#protocol/jobs/judge-end.ts";
import type { AttemptOutcome } from "#protocol/jobs/job-states.ts";
import type { Job, JobAttempt } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import type { EventRow } from "#protocol/wire/views.ts";
import { formatDuration } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { emit, recordEvent, type NewEvent } from "#server/core/events/record-event.ts";
import { notifyQueues } from "#server/core/live/job-memory.ts";
import { countUp } from "#server/platform/counters.ts";
import { readStored } from "#server/platform/stored-json.ts";
import { announceFollowed, settleFollowers, type Followed } from "./order/follow-jobs.ts";
import { rankOf } from "./job-rank.ts";

/** The attempt that ends, with its job. */
export type OpenAttempt = JobAttempt & { job: Job };

export interface Settled {
  event: EventRow;
  outcome: AttemptOutcome;
  /** Changes of the jobs that follow it; null while it is not over. */
  followed: Followed | null;
}

export interface Ending {
  end: AttemptEnd;
  toStep: number | null;
  by: "node" | "hub";
}

/** Why a job fails whose row was damaged. */
export const UNREADABLE = "its spec cannot be read";

const bigOf = (step: number | null): bigint | null => (step === null ? null : BigInt(step));

/** Returns the event about the end of an attempt. The sentence begins with the node, which the event names apart. */
function eventOf(open: OpenAttempt, verdict: EndVerdict): Pick<NewEvent, "kind" | "work" | "text"> {
  const event = endOf(open, verdict);
  return open.nodeId === null ? { ...event, text: `${machineWords(open)} ${event.text}` } : event;
}

/** Returns the words for the worker of an attempt that has no node. */
export const machineWords = ({ machine }: Pick<JobAttempt, "machine">): string =>
  `The Kelpie worker on ${visibleText(machine ?? "a machine")}`;

function endOf({ job, attempt }: OpenAttempt, verdict: EndVerdict): Pick<NewEvent, "kind" | "work" | "text"> {
  const { state, outcome, reason, delayMs } = verdict;
  const what = `the job ${job.name} (attempt ${attempt})`;
  if (state === "done") return { kind: "job-done", work: "safe", text: `completed ${what}` };
  if (state === "failed")
    return { kind: "job-failed", work: "risk", text: `failed ${what} for the last time: ${reason}` };
  if (outcome === "interrupted") {
    return { kind: "job-interrupted", work: "moving", text: `no longer works on ${what}: ${reason}` };
  }
  const wait = `it waits ${formatDuration(delayMs)}`;
  return { kind: "job-attempt-failed", work: "moving", text: `failed ${what}: ${reason}; ${wait}` };
}

/** Returns what follows the end of an attempt. A job that cannot be read is not handed out again: it fails. */
function verdictOf({ spec, failures, setbacks }: Job, end: AttemptEnd): EndVerdict {
  const policy = readStored(spec, jobSpec)?.policy;
  const verdict = judgeEnd(policy ?? DEFAULT_POLICY, { failures, setbacks, random: Math.random }, end);
  const isReadable = policy !== undefined && !(end.kind === "interrupted" && end.why === UNREADABLE);
  if (isReadable || verdict.state !== "waiting") return verdict;
  return { ...verdict, state: "failed", delayMs: 0, reason: UNREADABLE };
}

/**
 * Ends an open attempt and moves its job on, in the transaction that found the attempt open. Call `announceEnd` after the
 * commit.
 */
export async function settleEnd(
  tx: Transaction,
  { hub, open }: { hub: Hub; open: OpenAttempt },
  { end, toStep, by }: Ending,
): Promise<Settled> {
  const { job } = open;
  const now = hub.now();
  const verdict = verdictOf(job, end);
  const { outcome, state, reason, delayMs, banMs } = verdict;
  await tx.jobAttempt.update({
    where: { jobId_attempt: { jobId: open.jobId, attempt: open.attempt } },
    data: {
      endedAt: new Date(now),
      endedBy: by,
      outcome,
      reason,
      exitCode: end.kind === "exited" ? end.code : null,
      signal: end.kind === "killed" ? end.signal : null,
      fromStep: bigOf(end.fromStep),
      toStep: bigOf(toStep),
      safeStep: bigOf(end.safeStep),
    },
  });
  await tx.job.update({
    where: { id: job.id },
    data: {
      state,
      reason,
      failures: verdict.failures,
      setbacks: verdict.setbacks,
      // An attempt that never had the run is no reason to hand its job out first.
      rank: open.epoch === null && open.nodeId !== null ? job.rank : rankOf(job.priority, outcome === "interrupted"),
      dueAt: new Date(now + delayMs),
      endedAt: state === "waiting" ? null : new Date(now),
    },
  });
  const followed = state === "waiting" ? null : await settleFollowers(tx, hub, [job.id]);
  // A failed job may be retried.
  if (state === "done") await tx.jobSecret.deleteMany({ where: { jobId: job.id } });
  const ban = banMs === null ? null : { until: new Date(now + banMs), reason };
  const said = { at: now, ...eventOf(open, verdict) };
  const { jobId, nodeId, machine } = open;
  if (nodeId === null) {
    if (ban !== null && machine !== null) await banMachine(tx, { jobId, machine }, ban);
    // The run of such a job is only a name: no checkpoint is in it.
    return { outcome, followed, event: await recordEvent(tx, said) };
  }
  if (ban !== null) await banNode(tx, { jobId, nodeId }, ban);
  const node = await tx.node.findUniqueOrThrow({ where: { id: nodeId }, select: { id: true, name: true } });
  return { outcome, followed, event: await recordEvent(tx, { ...said, node, run: job.run }) };
}

/** Keeps a job from the machine of a Kelpie worker for some time. */
const banMachine = (
  tx: Transaction,
  { jobId, machine }: { jobId: string; machine: string },
  ban: { until: Date; reason: string },
) =>
  tx.jobMachineBan.upsert({
    where: { jobId_machine: { jobId, machine } },
    update: ban,
    create: { jobId, machine, ...ban },
  });

/** Keeps a job from the node of an attempt for some time. */
export async function banNode(
  tx: Pick<Transaction, "jobBan">,
  { jobId, nodeId }: { jobId: string; nodeId: string },
  ban: { until: Date; reason: string },
): Promise<void> {
  await tx.jobBan.upsert({
    where: { jobId_nodeId: { jobId, nodeId } },
    update: ban,
    create: { jobId, nodeId, ...ban },
  });
}

/** Shows the end of an attempt and wakes the nodes that wait for its job, or for another one of its run. */
export async function announceEnd(
  hub: Hub,
  { job }: Pick<OpenAttempt, "job">,
  { event, outcome, followed }: Settled,
): Promise<void> {
  countUp(hub.counters.jobAttempts, outcome);
  hub.jobs.heard.delete(job.id);
  emit(hub, event, ["jobs"]);
  if (followed !== null) announceFollowed(hub, followed);
  await notifyForRuns(hub, [job]);
}

/** Runs of one query for their queues. */
const MOST_RUNS = 500;

/** Wakes the nodes that wait in the queues of these jobs, and of jobs that waited for their runs. For many runs it wakes all nodes. */
export async function notifyForRuns(hub: Hub, jobs: readonly { queue: string; run: string }[]): Promise<void> {
  const runs = [...new Set(jobs.map(({ run }) => run))];
  if (runs.length > MOST_RUNS) {
    notifyQueues(hub.jobs, hub.jobs.queues.keys());
    return;
  }
  const others = await hub.db.job.groupBy({ by: ["queue"], where: { run: { in: runs }, state: "waiting" } });
  notifyQueues(
    hub.jobs,
    [...jobs, ...others].map(({ queue }) => queue),
  );
}

import type { KelpieStatus, KelpieWorker } from "#protocol/jobs/kelpie.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import type { Transaction } from "#prisma/open.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { isUntouched, revive } from "../revive.ts";
import { announceEnd, machineWords, settleEnd, type OpenAttempt } from "../settle-end.ts";
import { noteWebhook } from "./call-webhooks.ts";
import { statusOf } from "./show-kelpie.ts";

/**
 * Takes what Kelpie workers report. A report counts for the machine of the newest attempt, while that is open or was
 * interrupted and nobody has taken the job up since. Any other report changes nothing, and still gets an answer: a worker
 * repeats a call that fails, and then ends.
 */

interface Found {
  /** Null before the first attempt. */
  newest: OpenAttempt | null;
  status: KelpieStatus;
  /** The worker has the job, or may go on with it. */
  isOwner: boolean;
}

/** Returns a job of the worker's queue with its newest attempt; null when there is no such job. */
async function find(tx: Transaction, id: string, worker: KelpieWorker): Promise<Found | null> {
  const job = await tx.job.findFirst({ where: { id, kelpie: { isNot: null } } });
  if (job === null || job.queue !== worker.container_group_id) return null;
  const row = await tx.jobAttempt.findUnique({ where: { jobId_attempt: { jobId: id, attempt: job.attempts } } });
  const newest = row === null ? null : { ...row, job };
  const isOwner =
    newest !== null && newest.machine === worker.machine_id && (newest.endedAt === null || isUntouched(newest));
  return { newest, status: statusOf(job), isOwner };
}

/**
 * Notes a heartbeat and returns the status of the job; null when there is none. A worker that does not have the job any more
 * learns `canceled`, which ends its program.
 */
export async function hearKelpie(hub: Hub, id: string, worker: KelpieWorker): Promise<KelpieStatus | null> {
  const now = hub.now();
  const heard = await hub.db.$transaction(async (tx) => {
    const found = await find(tx, id, worker);
    if (found === null) return null;
    const { newest, status, isOwner } = found;
    if (newest === null || !isOwner) {
      const isOwn = newest !== null && newest.machine === worker.machine_id;
      return { status: isOwn ? status : ("canceled" as const), isOwner: false, event: null };
    }
    const data = { heartbeatAt: new Date(now), heartbeats: { increment: 1 } };
    await tx.kelpieJob.update({ where: { jobId: id }, data });
    if (newest.endedAt === null) return { status, isOwner, event: null };
    await revive(tx, newest, new Date(now));
    const text = `${machineWords(newest)} goes on with the job ${visibleText(newest.job.name)} (attempt ${newest.attempt})`;
    const event = await recordEvent(tx, { at: now, kind: "job-started", work: "moving", text });
    return { status: "running" as const, isOwner, event };
  });
  if (heard === null) return null;
  if (heard.isOwner) {
    hub.jobs.heard.set(id, now);
    hub.jobs.mayRun = true;
  }
  if (heard.event !== null) emit(hub, heard.event, ["jobs"]);
  return heard.status;
}

/** Notes that a worker completed or failed a job. Returns whether there is such a job. */
export async function endKelpie(
  hub: Hub,
  id: string,
  { worker, how }: { worker: KelpieWorker; how: "completed" | "failed" },
): Promise<boolean> {
  const ended = await hub.db.$transaction(async (tx) => {
    const found = await find(tx, id, worker);
    if (found === null) return null;
    const { newest, isOwner } = found;
    if (newest === null || !isOwner) return "stale" as const;
    const end = how === "completed" ? { kind: "exited" as const, code: 0 } : { kind: "failed" as const };
    const ending = { end: { ...end, fromStep: null, safeStep: null }, toStep: null, by: "node" as const };
    const settled = await settleEnd(tx, { hub, open: newest }, ending);
    const job = await tx.job.findUniqueOrThrow({ where: { id }, include: { kelpie: true } });
    const status = statusOf(job);
    // A failure that is not the last one calls nothing.
    if (status === "completed" || status === "failed") await noteWebhook(tx, job, { status, at: new Date(hub.now()) });
    return { newest, settled };
  });
  if (ended === null) return false;
  if (ended !== "stale") {
    hub.jobs.mayCall = true;
    await announceEnd(hub, ended.newest, ended.settled);
  }
  return true;
}

import { jobStatesBefore } from "#protocol/jobs/job-states.ts";
import type { Transaction } from "#prisma/open.ts";
import { holdsLease } from "./holds-lease.ts";
import type { OpenAttempt } from "./settle-end.ts";

/** Returns whether the hub interrupted an attempt and no other attempt of its job began. */
export function isUntouched({ job, attempt, endedBy, outcome }: OpenAttempt): boolean {
  if (endedBy !== "hub" || outcome !== "interrupted") return false;
  return jobStatesBefore("running", "node").some((state) => state === job.state) && job.attempts === attempt;
}

/**
 * Returns whether the hub interrupted an attempt that its node may go on with: no other attempt began, nobody else claimed the
 * run, and no other job of the run is running. @throws Fault HISTORY_UNREAD
 */
export async function mayRevive(tx: Transaction, attempt: OpenAttempt): Promise<boolean> {
  const { job, epoch, nodeId } = attempt;
  if (nodeId === null || !isUntouched(attempt)) return false;
  const other = { run: job.run, state: "running", id: { not: job.id } };
  if ((await tx.job.findFirst({ where: other, select: { id: true } })) !== null) return false;
  return holdsLease(tx, { run: job.run, epoch, nodeId });
}

/** Opens an interrupted attempt again. The caller has checked `mayRevive` in the same transaction. */
export async function revive(tx: Transaction, { jobId, attempt }: OpenAttempt, at: Date): Promise<void> {
  await tx.jobAttempt.update({
    where: { jobId_attempt: { jobId, attempt } },
    // The time without a newer safe step begins again: the node could not commit while it was silent.
    data: { endedAt: null, endedBy: null, outcome: null, reason: null, toStep: null, safeStep: null, progressAt: at },
  });
  await tx.job.update({ where: { id: jobId }, data: { state: "running", reason: null } });
}

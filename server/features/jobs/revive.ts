import { jobStatesBefore } from "#protocol/jobs/job-states.ts";
import type { Transaction } from "#prisma/open.ts";
import { holdsLease } from "./holds-lease.ts";
import type { OpenAttempt } from "./settle-end.ts";

/**
 * Returns whether the hub interrupted an attempt that its node may go on with: no other attempt began, and nobody else claimed
 * the run. @throws Fault HISTORY_UNREAD
 */
export async function mayRevive(tx: Transaction, attempt: OpenAttempt): Promise<boolean> {
  const { job, endedBy, outcome, epoch, nodeId } = attempt;
  if (endedBy !== "hub" || outcome !== "interrupted") return false;
  if (!jobStatesBefore("running", "node").some((state) => state === job.state)) return false;
  return job.attempts === attempt.attempt && (await holdsLease(tx, { run: job.run, epoch, nodeId }));
}

/** Opens an interrupted attempt again. The caller has checked `mayRevive` in the same transaction. */
export async function revive(tx: Transaction, { jobId, attempt }: OpenAttempt): Promise<void> {
  await tx.jobAttempt.update({
    where: { jobId_attempt: { jobId, attempt } },
    data: { endedAt: null, endedBy: null, outcome: null, reason: null, toStep: null, safeStep: null },
  });
  await tx.job.update({ where: { id: jobId }, data: { state: "running", reason: null } });
}

import { Fault } from "#protocol/faults/fault.ts";
import type { Job, JobAttempt } from "#prisma/client/client.ts";
import type { NodeCaller } from "#server/core/api/caller.ts";
import type { Hub } from "#server/core/api/hub.ts";

/** How long after its end an attempt may still store the last output of its program. */
const LATE_MS = 600_000;

export type LeasedAttempt = JobAttempt & { job: Job };

/**
 * Returns the attempt that a node names, if the node was handed it under this epoch and it is open or ended a moment ago.
 * @throws Fault NOT_THIS_NODES
 */
export async function findOwnAttempt(
  { db, now }: Pick<Hub, "db" | "now">,
  { nodeId }: NodeCaller,
  { jobId, attempt, epoch }: { jobId: string; attempt: number | null; epoch: number | null },
): Promise<LeasedAttempt> {
  const refuse = (detail: string): Fault =>
    new Fault("NOT_THIS_NODES", { op: "sign for a job", subject: jobId, detail });
  if (attempt === null) throw refuse("it names no attempt");
  const row = await db.jobAttempt.findUnique({ where: { jobId_attempt: { jobId, attempt } }, include: { job: true } });
  if (row === null || row.nodeId !== nodeId || row.epoch !== epoch)
    throw refuse("this attempt was not handed to the node under this epoch");
  if (row.endedAt !== null && now() - row.endedAt.getTime() > LATE_MS) throw refuse("the attempt is over");
  return row;
}

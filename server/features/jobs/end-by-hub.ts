import type { Hub } from "#server/core/api/hub.ts";
import { announceEnd, settleEnd } from "./settle-end.ts";
import { stepsNow } from "./steps-now.ts";

/** Why the hub ends an attempt. */
export type HubEnd = { kind: "interrupted"; why: string } | { kind: "stopped"; limit: "longest" | "no-progress" };

/**
 * Ends an attempt by the hub's own decision, unless it is over. Its steps are those of the node's last report and of the newest
 * complete checkpoint. Returns whether it was open.
 */
export async function endByHub(
  hub: Hub,
  { jobId, attempt }: { jobId: string; attempt: number },
  end: HubEnd,
): Promise<boolean> {
  const ended = await hub.db.$transaction(async (tx) => {
    const open = await tx.jobAttempt.findUnique({
      where: { jobId_attempt: { jobId, attempt } },
      include: { job: true },
    });
    if (open === null || open.endedAt !== null) return null;
    const fromStep = open.fromStep === null ? null : Number(open.fromStep);
    const { nodeId } = open;
    const none = { toStep: null, safeStep: null };
    const { toStep, safeStep } = nodeId === null ? none : await stepsNow(hub, tx, { nodeId, run: open.job.run });
    const settled = await settleEnd(tx, { hub, open }, { end: { ...end, fromStep, safeStep }, toStep, by: "hub" });
    return { open, settled };
  });
  if (ended === null) return false;
  await announceEnd(hub, ended.open, ended.settled);
  return true;
}

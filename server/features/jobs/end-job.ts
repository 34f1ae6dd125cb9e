import type * as z from "zod";
import type { EndJobAnswer, endJobInput } from "#protocol/jobs/node-jobs.ts";
import type { NodeCaller } from "#server/core/api/caller.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { hearCaller } from "#server/core/nodes/hear-caller.ts";
import { endByHub } from "./end-by-hub.ts";
import { holdsLease } from "./holds-lease.ts";
import { mayRevive } from "./revive.ts";
import { announceEnd, settleEnd } from "./settle-end.ts";

/**
 * Takes a node's report of the end of an attempt. It counts only for the node and the epoch of an attempt that is open, or that
 * was interrupted and that nobody has taken up since. @throws Fault NODE_UNKNOWN, NODE_REVOKED, HISTORY_UNREAD
 */
export async function endJob(
  { hub, caller }: Context & { caller: NodeCaller },
  input: z.infer<typeof endJobInput>,
): Promise<EndJobAnswer> {
  const node = await hearCaller({ hub, caller });
  const { jobId, attempt, epoch, exit, fromStep, toStep, safeStep } = input;
  const found = await hub.db.$transaction(async (tx) => {
    const open = await tx.jobAttempt.findUnique({
      where: { jobId_attempt: { jobId, attempt } },
      include: { job: true },
    });
    if (open === null || open.nodeId !== node.id || open.epoch !== epoch) return "stale" as const;
    if (open.endedAt !== null) {
      if (open.endedBy === "node") return "known" as const;
      if (!(await mayRevive(tx, open))) return "stale" as const;
    } else if (!(await holdsLease(tx, { run: open.job.run, epoch, nodeId: node.id }))) return "lost" as const;
    const settled = await settleEnd(tx, { hub, open }, { end: { ...exit, fromStep, safeStep }, toStep, by: "node" });
    return { open, settled };
  });
  if (found === "lost") {
    await endByHub(hub, { jobId, attempt }, { kind: "interrupted", why: "another node claimed its run" });
  }
  if (found === "known") return { accepted: true };
  if (found === "lost" || found === "stale") return { accepted: false };
  await announceEnd(hub, found.open, found.settled);
  return { accepted: true };
}

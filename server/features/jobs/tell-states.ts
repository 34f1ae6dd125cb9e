import type * as z from "zod";
import { attemptOutcome } from "#protocol/jobs/job-states.ts";
import type { HeldAnswer, HeldAttempt, JobStatesAnswer, jobStatesInput } from "#protocol/jobs/node-jobs.ts";
import type { NodeCaller } from "#server/core/api/caller.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import type { LiveNode } from "#server/core/live/live-node.ts";
import { hearCaller } from "#server/core/nodes/hear-caller.ts";
import { mayRevive, revive } from "./revive.ts";

/** Opens an attempt again that was interrupted while its node was silent. Returns whether it did. */
async function takeUp(hub: Hub, node: LiveNode, { jobId, attempt }: HeldAttempt): Promise<boolean> {
  const event = await hub.db.$transaction(async (tx) => {
    const where = { jobId_attempt: { jobId, attempt } };
    const row = await tx.jobAttempt.findUnique({ where, include: { job: true } });
    if (row === null || row.nodeId !== node.id || !(await mayRevive(tx, row))) return null;
    await revive(tx, row, new Date(hub.now()));
    const text = `goes on with the job ${row.job.name} (attempt ${attempt})`;
    return recordEvent(tx, { at: hub.now(), kind: "job-started", work: "moving", node, run: row.job.run, text });
  });
  if (event === null) return false;
  hub.jobs.mayRun = true;
  emit(hub, event, ["jobs"]);
  return true;
}

/**
 * Renews the leases of a node's attempts and tells it which are over. @throws Fault NODE_UNKNOWN, NODE_REVOKED, HISTORY_UNREAD
 */
export async function tellStates(
  { hub, caller }: Context & { caller: NodeCaller },
  input: z.infer<typeof jobStatesInput>,
): Promise<JobStatesAnswer> {
  const node = await hearCaller({ hub, caller });
  if (input.jobs.length === 0) return { jobs: [] };
  const rows = await hub.db.jobAttempt.findMany({ where: { OR: input.jobs, nodeId: node.id, bootId: input.bootId } });
  const jobs: HeldAnswer[] = [];
  for (const held of input.jobs) {
    const row = rows.find(({ jobId, attempt }) => jobId === held.jobId && attempt === held.attempt);
    const isOpen = row !== undefined && (row.endedAt === null || (await takeUp(hub, node, held)));
    if (isOpen) {
      hub.jobs.heard.set(held.jobId, hub.now());
      jobs.push({ ...held, state: "current", outcome: null, reason: null });
      continue;
    }
    const outcome = attemptOutcome.safeParse(row?.outcome).data ?? null;
    const reason = row === undefined ? "the hub does not know this attempt" : (row.reason ?? "it is over");
    jobs.push({ ...held, state: "over", outcome, reason });
  }
  return { jobs };
}

import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { NextJobAnswer, nextJobInput } from "#protocol/jobs/job-bytes.ts";
import { jobSpec } from "#protocol/jobs/job-spec.ts";
import type { Job } from "#prisma/client/client.ts";
import type { NodeCaller } from "#server/core/api/caller.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { liveNodeOf } from "#server/core/nodes/live-node-of.ts";
import { readStored } from "#server/platform/stored-json.ts";
import { chooseJob, meansOf } from "../choose-job.ts";
import { readCaps } from "../queues/caps.ts";

/** How long a node may fetch the inputs of a job that it would be handed next. */
const OFFER_MS = 600_000;

/** A waiting job whose inputs a node may read, without a lease. */
export interface OfferedJob {
  job: Job;
  attempt: null;
}

/**
 * Returns the job that the node would be handed if it asked now, when that has inputs. Changes nothing: any node may be handed
 * it first. The node may read its inputs until it asks again, or for ten minutes. @throws Fault NODE_UNKNOWN, NODE_REVOKED
 */
export async function nextJob(
  { hub, caller }: Context & { caller: NodeCaller },
  offer: z.infer<typeof nextJobInput>,
): Promise<NextJobAnswer> {
  const { db, jobs, now } = hub;
  const node = liveNodeOf(hub, caller.nodeId);
  jobs.offered.delete(node.id);
  const { queue } = offer;
  const row = await db.jobQueue.findUnique({ where: { name: queue } });
  const { whyFull, fullOwners } = await readCaps(db, queue);
  if ((row?.pausedAt ?? null) !== null || whyFull !== null) return { job: null };
  const means = meansOf(hub, node, { ...offer, movesBytes: true });
  const chosen = await chooseJob(hub, node, { queue, means, fullOwners });
  const found = chosen === null ? null : await db.job.findUnique({ where: { id: chosen.id } });
  const spec = found === null ? null : readStored(found.spec, jobSpec);
  if (found === null || spec === null || spec.inputs.length === 0) return { job: null };
  jobs.offered.set(node.id, { jobId: found.id, until: now() + OFFER_MS });
  return { job: { id: found.id, name: found.name, inputs: spec.inputs } };
}

/** Returns the job that a node was told of by `nextJob`, while it waits. @throws Fault NOT_THIS_NODES */
export async function findOffered(
  { db, jobs, now }: Pick<Hub, "db" | "jobs" | "now">,
  { nodeId }: NodeCaller,
  jobId: string,
): Promise<OfferedJob> {
  const offered = jobs.offered.get(nodeId);
  const job =
    offered?.jobId === jobId && now() < offered.until ? await db.job.findUnique({ where: { id: jobId } }) : null;
  if (job?.state === "waiting") return { job, attempt: null };
  throw new Fault("NOT_THIS_NODES", {
    op: "read inputs",
    subject: jobId,
    detail: "it is not the job that this node would be handed next",
  });
}

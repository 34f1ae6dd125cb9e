import type * as z from "zod";
import { isExpected } from "#protocol/fleet/node-status.ts";
import type { TakeJobAnswer, takeJobInput } from "#protocol/jobs/node-jobs.ts";
import type { NodeCaller } from "#server/core/api/caller.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { endWait, withQueue } from "#server/core/live/job-memory.ts";
import { createSignal } from "#server/core/live/signal.ts";
import { stateOf, type LiveNode } from "#server/core/live/live-node.ts";
import { hearCaller } from "#server/core/nodes/hear-caller.ts";
import { endByHub } from "./end-by-hub.ts";
import { holdsLease } from "./holds-lease.ts";
import { watchQueue } from "./watch-queue.ts";
import { claimAttempt, giveBack, handOut, isFinal, type HandedOut } from "./hand-out.ts";

type Input = z.infer<typeof takeJobInput>;

/** Ends the open attempts of earlier starts of the worker. Returns the answer for one that the worker does not know of. */
async function findUnknown(hub: Hub, node: LiveNode, { bootId, holds }: Input): Promise<TakeJobAnswer["job"]> {
  const open = await hub.db.jobAttempt.findMany({
    where: { nodeId: node.id, endedAt: null },
    include: { job: true },
    orderBy: { startedAt: "asc" },
  });
  for (const attempt of open) {
    if (attempt.bootId === bootId) continue;
    await endByHub(hub, attempt, { kind: "interrupted", why: `${node.name} started again` });
  }
  const held = new Set(holds.map(({ jobId, attempt }) => `${jobId} ${attempt}`));
  for (const { job, attempt, ...row } of open) {
    if (row.bootId !== bootId || held.has(`${job.id} ${attempt}`)) continue;
    const { epoch, nodeId } = row;
    if (nodeId === null) continue;
    if (epoch !== null && !(await holdsLease(hub.db, { run: job.run, epoch, nodeId }))) continue;
    try {
      const taken = await claimAttempt(hub, { job, attempt, node, isAgain: epoch !== null });
      if (taken !== null) return taken;
    } catch (error) {
      if (!isFinal(error)) throw error;
      await giveBack(hub, { job, attempt, node }, error);
    }
  }
  return null;
}

/**
 * Hands the calling node one job, and waits for one. A newer call of the same node ends the wait of an earlier one. A node that
 * listens is answered at once: the hub looks on for it, and notifies it over its stream. @throws Fault NODE_UNKNOWN, NODE_REVOKED, and those of a claim that may succeed later
 */
export async function takeJob(
  { hub, caller, signal }: Context & { caller: NodeCaller; signal: AbortSignal },
  input: Input,
): Promise<TakeJobAnswer> {
  const node = await hearCaller({ hub, caller });
  endWait(hub.jobs, node.id);
  if (input.ends === true) {
    hub.jobs.offers.delete(node.id);
    return { job: null, why: null };
  }
  const mine = new AbortController();
  hub.jobs.waiting.set(node.id, mine);
  const { queue: name, gpuMemoryBytes, diskBytes, movesBytes } = input;
  hub.jobs.offers.set(node.id, { queue: name, gpuMemoryBytes, diskBytes, movesBytes });
  const abort = AbortSignal.any([signal, hub.closing, mine.signal]);
  const wanted = { node, bootId: input.bootId, offer: input, abort };
  const until = hub.now() + input.waitSeconds * 1_000;
  let isWatched = false;
  try {
    return await withQueue(hub.jobs, input.queue, async (queue) => {
      for (let isFirst = true; ; isFirst = false) {
        const { version } = queue;
        // A later call of this node waits here until what this one was handed is stored, and is then given it again.
        const handed = await hub.locks.run(`jobs of ${node.id}`, async (): Promise<HandedOut> => {
          if (abort.aborted) return { job: null, why: null, isRefused: false };
          const unknown = isFirst ? await findUnknown(hub, node, input) : null;
          return unknown === null ? handOut(hub, wanted) : { job: unknown };
        });
        const answer: TakeJobAnswer =
          handed.job === null ? { job: null, why: handed.why } : { job: handed.job, why: null };
        const leftMs = until - hub.now();
        if (handed.job === null && handed.isRefused) {
          // Its next claim would most likely fail too: one job per call, or it would try all jobs of the queue in a row.
          if (leftMs > 0) await createSignal().wait({ timeoutMs: leftMs, abort });
          return answer;
        }
        if (answer.job !== null || leftMs <= 0 || abort.aborted || !isExpected(stateOf(node))) return answer;
        if (queue.version !== version) continue;
        if (input.listens === true && node.mailboxes.size > 0) {
          isWatched = true;
          watchQueue(hub, queue, { node, bootId: input.bootId, offer: input, ended: mine });
          return { ...answer, notifies: true };
        }
        await queue.signal.wait({ timeoutMs: leftMs, abort });
        if (abort.aborted || hub.now() >= until) return answer;
      }
    });
  } finally {
    if (!isWatched && hub.jobs.waiting.get(node.id) === mine) hub.jobs.waiting.delete(node.id);
  }
}

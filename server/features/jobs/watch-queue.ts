import { isExpected } from "#protocol/fleet/node-status.ts";
import { ASK_AGAIN_MS } from "#protocol/jobs/node-jobs.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { endWait, withQueue, type JobOffer, type QueueMemory } from "#server/core/live/job-memory.ts";
import { post, stateOf, type LiveNode } from "#server/core/live/live-node.ts";
import { createPauses } from "#server/platform/pauses.ts";
import { handOut, isClosed } from "./hand-out.ts";

/**
 * Looks for jobs for nodes that hold a stream instead of a call. An idle node costs a message when it has a job, and one call
 * each ten minutes. A job is assigned before the message is sent, so that one job wakes one node. The node then gets it as it
 * would get an answer that was lost; if it does not ask, the lease of the attempt ends.
 */

/** Some changes notify no queue, for example a new bucket of a run. */
const LOOK_AGAIN_MS = 60_000;
/** Each claim writes to the bucket, so that several run at a time. */
const LANES = 8;
/** Pause after a claim that was refused: the next one would most likely be, too. */
const AFTER_REFUSAL_MS = 25_000;
/** Time for the next call of the node to arrive. */
const SPARE_MS = 30_000;

interface Watch {
  node: LiveNode;
  bootId: string;
  offer: JobOffer;
  /** Aborted by the next call of the node, and by commands after which it takes no job. */
  ended: AbortController;
}

/** Looks for a job for a node until it has one, asks again, or is gone. The queue has none for it now. */
export function watchQueue(hub: Hub, queue: QueueMemory, { node, bootId, offer, ended }: Watch): void {
  const { jobs } = hub;
  const until = hub.now() + ASK_AGAIN_MS + SPARE_MS;
  const wanted = { node, bootId, offer, abort: AbortSignal.any([ended.signal, hub.closing]) };
  let restUntil = 0;
  const isGone = () => hub.now() > until || node.mailboxes.size === 0 || !isExpected(stateOf(node));
  const watcher = {
    look: async (): Promise<boolean> => {
      if (ended.signal.aborted || isGone()) return true;
      if (isClosed(hub, queue) || restUntil > hub.now()) return false;
      try {
        const handed = await hub.locks.run(`jobs of ${node.id}`, async () =>
          wanted.abort.aborted ? null : handOut(hub, wanted),
        );
        if (handed === null) return true;
        if (handed.job === null) {
          if (handed.isRefused) restUntil = hub.now() + AFTER_REFUSAL_MS;
          return false;
        }
      } catch (error) {
        // The node asks again, and gets the fault as the answer of its call.
        hub.log.warn({ error, node: node.name }, "a job could not be assigned to a waiting node");
      }
      post(node, { type: "job" });
      return true;
    },
  };
  const end = () => {
    if (jobs.waiting.get(node.id) === ended) jobs.waiting.delete(node.id);
    if (queue.watchers.get(node.id) !== watcher) return;
    queue.watchers.delete(node.id);
    if (queue.watchers.size > 0) return;
    queue.watched?.abort();
    queue.watched = null;
  };
  if (ended.signal.aborted) return end();
  ended.signal.addEventListener("abort", end, { once: true });
  queue.watchers.set(node.id, watcher);
  if (queue.watched !== null) return;
  queue.watched = new AbortController();
  void lookForAll(hub, { name: offer.queue, watched: queue.watched });
}

/** Looks for all watchers of a queue at each change, and each minute. */
const lookForAll = (
  { jobs, closing }: Hub,
  { name, watched }: { name: string; watched: AbortController },
): Promise<void> =>
  withQueue(jobs, name, async (queue) => {
    const abort = AbortSignal.any([watched.signal, closing]);
    let { version } = queue;
    while (!abort.aborted) {
      if (queue.version === version) await queue.signal.wait({ timeoutMs: LOOK_AGAIN_MS, abort });
      version = queue.version;
      const pauses = createPauses();
      await forEachOf(queue.watchers, LANES, async ([nodeId, watcher]) => {
        if (pauses.isDue()) await pauses.take();
        if (!abort.aborted && queue.watchers.get(nodeId) === watcher && (await watcher.look())) endWait(jobs, nodeId);
      });
    }
  });

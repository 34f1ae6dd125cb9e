import { isExpected } from "#protocol/fleet/node-status.ts";
import { ASK_AGAIN_MS } from "#protocol/jobs/node-jobs.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { withQueue, type ProfileClaims, type QueueMemory, type QueueWatcher } from "#server/core/live/job-memory.ts";
import { post, stateOf, type LiveNode } from "#server/core/live/live-node.ts";
import { createPauses } from "#server/platform/pauses.ts";
import { claimReserved, isClosed, reserveFirst } from "./hand-out.ts";

/**
 * Looks for jobs for nodes that hold a stream instead of a call. An idle node costs a message when it has a job, and one call
 * each ten minutes. A job is assigned before the message is sent, so that one job wakes one node. The node then gets it as it
 * would get an answer that was lost; if it does not ask, the lease of the attempt ends.
 */

/** Some changes notify no queue, for example a new bucket of a run. */
const LOOK_AGAIN_MS = 60_000;
/** Claims of nodes of one bucket profile at a time. Each writes to the bucket, which may be slow or not answer. */
const MOST_CLAIMS = 8;
/** Pause after a claim that was refused: the next one would most likely be, too. */
const AFTER_REFUSAL_MS = 25_000;
/** Time for the next call of the node to arrive. */
const SPARE_MS = 30_000;

/** Looks for a job for a node until it has one, asks again, or is gone. The queue has none for it now. */
export function watchQueue(
  hub: Hub,
  queue: QueueMemory,
  about: Pick<QueueWatcher, "node" | "bootId" | "offer" | "ended">,
): void {
  const { node, offer, ended } = about;
  const until = hub.now() + ASK_AGAIN_MS + SPARE_MS;
  const watcher: QueueWatcher = { ...about, until, restUntil: 0, isBusy: false };
  const end = () => {
    if (hub.jobs.waiting.get(node.id) === ended) hub.jobs.waiting.delete(node.id);
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

/** Returns whether the wait is over. A node that is silent may be back with the same stream. */
function isOver({ now }: Pick<Hub, "now">, { node, until }: QueueWatcher): boolean {
  const state = stateOf(node);
  return now() > until || node.mailboxes.size === 0 || state === "offline" || state === "revoked";
}

/** Looks for all watchers of a queue at each change, and each minute. A claim that takes long delays no other watcher. */
const lookForAll = (hub: Hub, { name, watched }: { name: string; watched: AbortController }): Promise<void> =>
  withQueue(hub.jobs, name, async (queue) => {
    const abort = AbortSignal.any([watched.signal, hub.closing]);
    const pauses = createPauses();
    let { version } = queue;
    while (!abort.aborted) {
      if (queue.version === version && !queue.isDue) await queue.signal.wait({ timeoutMs: LOOK_AGAIN_MS, abort });
      version = queue.version;
      queue.isDue = false;
      for (const watcher of queue.watchers.values()) {
        if (pauses.isDue()) await pauses.take();
        if (abort.aborted) break;
        if (isOver(hub, watcher)) watcher.ended.abort();
        else if (mayLook(hub, queue, watcher)) await lookFor(hub, queue, watcher);
      }
    }
  });

/** Returns whether a job may be found for a watcher now. */
function mayLook(hub: Hub, queue: QueueMemory, { node, isBusy, restUntil }: QueueWatcher): boolean {
  if (isBusy || isClosed(hub, queue) || restUntil > hub.now() || !isExpected(stateOf(node))) return false;
  const claims = claimsOf(hub, node);
  if (claims.running < MOST_CLAIMS) return true;
  claims.leftOut.add(queue);
  return false;
}

function claimsOf({ jobs }: Pick<Hub, "jobs">, { profileId }: Pick<LiveNode, "profileId">): ProfileClaims {
  const claims = jobs.claims.get(profileId) ?? { running: 0, leftOut: new Set() };
  jobs.claims.set(profileId, claims);
  return claims;
}

/** Looks for a job for one watcher. Resolves when one is reserved or none was found; the claim of the run goes on after that. */
function lookFor(hub: Hub, queue: QueueMemory, watcher: QueueWatcher): Promise<void> {
  const { node, bootId, offer, ended } = watcher;
  watcher.isBusy = true;
  const wanted = { node, bootId, offer, abort: AbortSignal.any([ended.signal, hub.closing]) };
  const known = Promise.withResolvers<void>();
  const tell = () => {
    post(node, { type: "job" });
    ended.abort();
  };
  const assign = async (): Promise<void> => {
    for (;;) {
      const looked = await reserveFirst(hub, queue, wanted);
      if (looked.reserved === null) return;
      const claims = claimsOf(hub, node);
      claims.running++;
      known.resolve();
      try {
        const handed = await claimReserved(hub, wanted, looked.reserved);
        if (handed === null) continue;
        if (handed.job === null) watcher.restUntil = hub.now() + AFTER_REFUSAL_MS;
        else tell();
        return;
      } finally {
        claims.running--;
        for (const other of claims.leftOut) {
          other.isDue = true;
          other.signal.notify();
        }
        claims.leftOut.clear();
      }
    }
  };
  const assigning = hub.locks
    .run(`jobs of ${node.id}`, assign)
    .catch((error: unknown) => {
      hub.log.warn({ error, node: node.name }, "a job could not be assigned to a waiting node");
      // The node asks again, and gets the fault as the answer of its call.
      tell();
    })
    .finally(() => {
      watcher.isBusy = false;
      known.resolve();
      hub.jobs.assigning.delete(assigning);
    });
  hub.jobs.assigning.add(assigning);
  return known.promise;
}

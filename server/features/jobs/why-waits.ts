import { isExpected } from "#protocol/fleet/node-status.ts";
import { fitsPatterns } from "#protocol/base/scope.ts";
import { jobSpec, type JobSpec } from "#protocol/jobs/job-spec.ts";
import { formatBytes, formatCount, formatDuration } from "#protocol/base/units.ts";
import type { Job } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { stateOf, type LiveNode } from "#server/core/live/live-node.ts";
import { homesOf } from "#server/core/profiles/homes-of.ts";
import { readStored } from "#server/platform/stored-json.ts";
import { meansOf, type Means } from "./choose-job.ts";
import { readCaps, whyOwnerFull } from "./queues/caps.ts";
import { isHeld } from "./order/follow-jobs.ts";

/** Says in one sentence why a waiting job is not handed out: the order of the checks is that of the hand-out. */

interface Taker {
  node: LiveNode;
  means: Means;
}

/** A need that a node has to meet, with its words after "it needs". */
interface Need {
  words: string;
  isMet(taker: Taker): boolean;
}

const GB = 1_000_000_000;
/** Returns a size as people state needs: in whole GB where it is one. */
const sizeWords = (bytes: number): string => (bytes % GB === 0 ? `${formatCount(bytes / GB)} GB` : formatBytes(bytes));

/** Returns the needs of a job, in the order in which people can do something about them. */
function needsOf({ needs, inputs, outputs }: JobSpec, run: string): Need[] {
  const { gpuMemoryBytes, diskBytes, uplinkBytesPerSecond, labels } = needs;
  return [
    ...(gpuMemoryBytes === undefined
      ? []
      : [
          {
            words: `${sizeWords(gpuMemoryBytes)} of GPU memory`,
            isMet: ({ means }: Taker) => means.gpuBytes >= gpuMemoryBytes,
          },
        ]),
    ...Object.entries(labels).map(([name, value]) => ({
      words: `the label ${name}=${value}`,
      isMet: ({ node }: Taker) => node.facts.labels[name] === value,
    })),
    ...(diskBytes === undefined
      ? []
      : [
          {
            words: `${sizeWords(diskBytes)} of free disk`,
            isMet: ({ means }: Taker) => means.diskBytes >= diskBytes,
          },
        ]),
    ...(uplinkBytesPerSecond === undefined
      ? []
      : [
          {
            words: `${sizeWords(uplinkBytesPerSecond)}/s of uplink`,
            isMet: ({ means }: Taker) => means.uplink >= uplinkBytesPerSecond,
          },
        ]),
    ...(inputs.length + outputs.length === 0
      ? []
      : [
          {
            words: "a worker that fetches inputs and saves outputs",
            isMet: ({ means }: Taker) => means.movesBytes,
          },
        ]),
    {
      words: `a node that may write the run ${run}`,
      isMet: ({ node }: Taker) => node.mayWrite === null || fitsPatterns(run, node.mayWrite),
    },
  ];
}

/** Returns the nodes that asked for jobs of a queue and are there, with what they offered last. */
function takersOf(hub: Hub, queue: string): Taker[] {
  return [...hub.jobs.offers].flatMap(([id, offer]) => {
    const node = hub.live.nodes.get(id);
    if (offer.queue !== queue || node === undefined || !isExpected(stateOf(node))) return [];
    return [{ node, means: meansOf(hub, node, offer) }];
  });
}

const nodesWords = (count: number): string => (count === 1 ? "one node" : `${formatCount(count)} nodes`);

/** Says how many of the nodes that meet all needs are busy or are not given the job. */
async function whyNotNow(
  hub: Hub,
  job: Job,
  { fitting, told }: { fitting: readonly Taker[]; told: string },
): Promise<string> {
  const ids = fitting.map(({ node }) => node.id);
  const bans = await hub.db.jobBan.findMany({
    where: { jobId: job.id, nodeId: { in: ids }, until: { gt: new Date(hub.now()) } },
    select: { nodeId: true },
  });
  const banned = new Set(bans.map(({ nodeId }) => nodeId));
  const open = await hub.db.jobAttempt.findMany({
    where: { nodeId: { in: ids }, endedAt: null },
    select: { nodeId: true },
  });
  const busy = new Set(open.flatMap(({ nodeId }) => (nodeId === null || banned.has(nodeId) ? [] : [nodeId])));
  const head = `${told}: ${nodesWords(ids.length)} ${ids.length === 1 ? "has" : "have"} it`;
  const start = told === "" ? `${nodesWords(ids.length)} of the queue ${job.queue} can take it` : head;
  const idle = ids.length - banned.size - busy.size;
  if (banned.size === ids.length)
    return `${start}, and ${ids.length === 1 ? "is" : "all are"} not given it for some time`;
  if (idle > 0) {
    const before = await hub.db.job.count({
      where: {
        queue: job.queue,
        state: "waiting",
        dueAt: { lte: new Date(hub.now()) },
        OR: [{ rank: { lt: job.rank } }, { rank: job.rank, seq: { lt: job.seq } }],
      },
    });
    const others = before === 1 ? "one job goes before" : `${formatCount(before)} jobs go before`;
    return before === 0 ? `${start}, and one takes it in a moment` : `${start}; ${others}`;
  }
  const kept = banned.size === 0 ? "" : `, or not given it for some time`;
  return `${start}, ${busy.size === 1 && ids.length === 1 ? "busy" : "all busy"}${kept}`;
}

/**
 * Returns why a waiting job is not handed out now, as a sentence without its end; null for jobs in other states and of Kelpie,
 * and for those whose reason says it, such as one that follows another job.
 */
export async function whyWaits(hub: Hub, job: Job & { kelpie: object | null }): Promise<string | null> {
  if (job.state !== "waiting" || job.kelpie !== null) return null;
  const paused = await hub.db.jobQueue.findFirst({ where: { name: job.queue, pausedAt: { not: null } } });
  if (paused !== null) return `the queue ${job.queue} is paused`;
  if (isHeld(job)) return null;
  const waitMs = job.dueAt.getTime() - hub.now();
  if (waitMs > 0) return `it waits ${formatDuration(waitMs)} after its last failure`;
  const writer = { run: job.run, state: "running", id: { not: job.id } };
  const other = await hub.db.job.findFirst({ where: writer, select: { name: true } });
  if (other !== null) return `the job ${other.name} writes its run ${job.run} now`;
  const spec = readStored(job.spec, jobSpec);
  if (spec === null) return null;
  const { whyFull, fullOwners } = await readCaps(hub.db, job.queue);
  if (whyFull !== null) return whyFull;
  if (fullOwners.includes(job.ownerId)) {
    const row = await hub.db.jobQueue.findUnique({ where: { name: job.queue } });
    return whyOwnerFull(job.owner, { queue: job.queue, most: row?.mostPerOwner ?? 0 });
  }
  const takers = takersOf(hub, job.queue);
  if (takers.length === 0) return `no node asks for jobs of the queue ${job.queue} now`;
  const told: string[] = [];
  let fitting = takers;
  for (const { words, isMet } of needsOf(spec, job.run)) {
    const before = fitting.length;
    fitting = fitting.filter(isMet);
    if (fitting.length < before) told.push(words);
    if (fitting.length > 0) continue;
    const what = told.length === 1 ? "it" : "all of it";
    const count = takers.length === 1 ? "one node asks" : `${formatCount(takers.length)} nodes ask`;
    return `it needs ${told.join(" and ")}: no node of the queue ${job.queue} has ${what} (${count} for its jobs)`;
  }
  const homes = await homesOf(hub.db, job.run);
  const near = homes === null ? fitting : fitting.filter(({ node }) => homes.profileIds.includes(node.profileId));
  if (near.length === 0) return `its run ${job.run} lives in another bucket than that of the nodes which could take it`;
  return whyNotNow(hub, job, { fitting: near, told: told.length === 0 ? "" : `it needs ${told.join(" and ")}` });
}

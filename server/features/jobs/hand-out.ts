import { stepText } from "#protocol/checkpoint/step-words.ts";
import { runName } from "#protocol/base/names.ts";
import { isExpected } from "#protocol/fleet/node-status.ts";
import { isFault, sentenceOf, toFault } from "#protocol/faults/fault.ts";
import { jobSpec } from "#protocol/jobs/job-spec.ts";
import { jobStatesBefore } from "#protocol/jobs/job-states.ts";
import type { TakenJob } from "#protocol/jobs/node-jobs.ts";
import type { Job } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import { formatCount } from "#protocol/base/units.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { claimForJob } from "#server/core/claims/claim-epoch.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { withQueue, type JobOffer, type QueueMemory } from "#server/core/live/job-memory.ts";
import { stateOf, type LiveNode } from "#server/core/live/live-node.ts";
import { readStored } from "#server/platform/stored-json.ts";
import { chooseJob, meansOf } from "./choose-job.ts";
import { endByHub } from "./end-by-hub.ts";
import { openSecrets } from "./job-secrets.ts";
import { readCaps } from "./queues/caps.ts";
import { findNothing, LONGEST_KNOWN_MS, noteNothing } from "./nothing-fits.ts";
import { banNode, UNREADABLE } from "./settle-end.ts";

/**
 * Hands one job to a node. First the row of the job is reserved: looks for a job of one queue follow each other, and the
 * update finds it waiting or gives nothing. Then the run is claimed for the node, which writes to the bucket and takes time.
 * The epoch of that claim is the lease.
 */

/** A node whose claim failed is not given the job again before. */
const BAN_AFTER_CLAIM_MS = 60_000;

/** Counting all of a long queue for one sentence would hold the database. */
const MOST_COUNTED = 1_000;

export interface HandOut {
  node: LiveNode;
  bootId: string;
  offer: JobOffer;
  /** Aborted when nobody waits for the answer any more. */
  abort: AbortSignal;
}

/** Returns why a queue has no job for a node, for people; null when no job is due. */
async function whyNone(hub: Hub, { queue, isPaused }: { queue: string; isPaused: boolean }): Promise<string | null> {
  if (isPaused) return `the queue ${queue} is paused`;
  const due = { queue, state: "waiting", dueAt: { lte: new Date(hub.now()) }, kelpie: { is: null } };
  const count = await hub.db.job.count({ where: due, take: MOST_COUNTED + 1 });
  if (count === 0) return null;
  const number = count > MOST_COUNTED ? `more than ${formatCount(MOST_COUNTED)}` : formatCount(count);
  const jobs = count === 1 ? "one job waits" : `${number} jobs wait`;
  return `${jobs} in the queue ${queue}, and this node can take none now: needs, bans, or runs that others write`;
}

/** Returns whether the caps of its queue hold a job back. */
async function isHeldBack(tx: Transaction, id: string, queue: string): Promise<boolean> {
  const { whyFull, fullOwners } = await readCaps(tx, queue);
  const job = await tx.job.findUnique({ where: { id }, select: { ownerId: true } });
  return job === null || whyFull !== null || fullOwners.includes(job.ownerId);
}

/** Sets a job running and opens its next attempt; null when it is not waiting any more, or a cap was reached. */
const reserve = (
  hub: Hub,
  { id, isCapped }: { id: string; isCapped: boolean },
  { node, bootId, offer }: HandOut,
): Promise<{ job: Job; attempt: number } | null> =>
  hub.db.$transaction(async (tx) => {
    const startedAt = new Date(hub.now());
    // A Kelpie worker may have been given one meanwhile.
    if (isCapped && (await isHeldBack(tx, id, offer.queue))) return null;
    const [job] = await tx.job.updateManyAndReturn({
      where: { id, state: { in: jobStatesBefore("running", "hub") } },
      data: { state: "running", attempts: { increment: 1 }, nodeId: node.id, startedAt, reason: null },
    });
    if (job === undefined) return null;
    const attempt = job.attempts;
    await tx.jobAttempt.create({ data: { jobId: id, attempt, nodeId: node.id, bootId, startedAt } });
    return { job, attempt };
  });

/** Returns whether it is known that no node gets a job of the queue now. */
export const isClosed = ({ now }: Pick<Hub, "now">, { closed, version }: QueueMemory): boolean =>
  closed !== null && closed.version === version && closed.until > now();

type Looked = { reserved: { job: Job; attempt: number } } | { reserved: null; why: string | null };

/** Reserves the first job of the queue that the node can take. */
export const reserveFirst = (hub: Hub, queue: QueueMemory, wanted: HandOut): Promise<Looked> =>
  hub.locks.run(`queue ${wanted.offer.queue}`, async () => {
    const { node, offer } = wanted;
    const nothing = (why: string | null): Looked => ({ reserved: null, why });
    if (!isExpected(stateOf(node))) return nothing(null);
    if (isClosed(hub, queue)) return nothing(queue.closed?.why ?? null);
    // The call may have waited here for others, and its node may be gone.
    if (wanted.abort.aborted) return nothing(null);
    const means = meansOf(hub, node, offer);
    const before = findNothing(hub, queue, { node, means });
    if (before !== null) return nothing(before.why);
    const { version } = queue;
    const close = (why: string | null): Looked => {
      queue.closed = { version, until: hub.now() + (why === null ? Infinity : LONGEST_KNOWN_MS), why };
      return nothing(why);
    };
    for (;;) {
      const { isPaused, isCapped, whyFull, fullOwners } = await readCaps(hub.db, offer.queue);
      if (isPaused) return close(await whyNone(hub, { queue: offer.queue, isPaused }));
      // The end of a job notifies the queue.
      if (whyFull !== null) return close(whyFull);
      const chosen = await chooseJob(hub, node, { queue: offer.queue, means, fullOwners });
      if (chosen === null) {
        const why = await whyNone(hub, { queue: offer.queue, isPaused: false });
        if (why === null) return close(null);
        await noteNothing(hub, queue, { node, means, version, why });
        return nothing(why);
      }
      const reserved = await reserve(hub, { id: chosen.id, isCapped }, wanted);
      if (reserved !== null) return { reserved };
    }
  });

/**
 * Returns the answer for a node about an attempt of its own: claims the run, under its current epoch if the node already has it. Null when
 * the attempt is over. `isAgain`: the node was told before.
 */
export async function claimAttempt(
  hub: Hub,
  { job, attempt, node, isAgain = false }: { job: Job; attempt: number; node: LiveNode; isAgain?: boolean },
): Promise<TakenJob | null> {
  // A claim would take the run from its writer, so the spec is checked first.
  const spec = readStored(job.spec, jobSpec);
  if (spec === null) {
    await endByHub(hub, { jobId: job.id, attempt }, { kind: "interrupted", why: UNREADABLE });
    return null;
  }
  const secrets = await openSecrets(hub, { id: job.id, names: spec.secrets });
  const claim = await claimForJob({ hub, run: runName.parse(job.run), node });
  const { epoch, newest } = claim;
  const event = await hub.db.$transaction(async (tx) => {
    const fromStep = newest === null ? null : BigInt(newest.step);
    const { count } = await tx.jobAttempt.updateMany({
      where: { jobId: job.id, attempt, endedAt: null },
      data: { epoch, fromStep },
    });
    // It was canceled meanwhile.
    if (count === 0) return "over" as const;
    if (isAgain) return null;
    const from = newest === null ? "" : ` from ${stepText(newest.step)}`;
    const text = `works on the job ${job.name} (attempt ${attempt})${from}`;
    return recordEvent(tx, { at: hub.now(), kind: "job-started", work: "moving", node, run: job.run, text });
  });
  if (event === "over") return null;
  hub.jobs.heard.set(job.id, hub.now());
  emit(hub, event, ["jobs"]);
  return { id: job.id, attempt, epoch, run: job.run, name: job.name, spec, secrets, claim };
}

export type HandedOut = { job: TakenJob } | { job: null; why: string | null; isRefused: boolean };

/**
 * Claims the run of a reserved job; null when the attempt is over by then. When the claim fails, the job waits again, for another
 * node first. A fault that no retry helps against is then an answer (`isRefused`): a worker takes a thrown one for its own end.
 * @throws Fault the others of a claim
 */
export async function claimReserved(
  hub: Hub,
  { node }: HandOut,
  { job, attempt }: { job: Job; attempt: number },
): Promise<HandedOut | null> {
  hub.jobs.mayRun = true;
  try {
    const taken = await claimAttempt(hub, { job, attempt, node });
    return taken === null ? null : { job: taken };
  } catch (error) {
    const why = await giveBack(hub, { job, attempt, node }, error);
    if (!isFinal(error)) throw error;
    return { job: null, why, isRefused: true };
  }
}

/** Hands the node the first job that it can take; null with a reason when there is none. @throws Fault those of `claimReserved` */
export const handOut = (hub: Hub, wanted: HandOut): Promise<HandedOut> =>
  withQueue(hub.jobs, wanted.offer.queue, async (queue) => {
    for (;;) {
      const looked = await reserveFirst(hub, queue, wanted);
      if (looked.reserved === null) return { job: null, why: looked.why, isRefused: false };
      const handed = await claimReserved(hub, wanted, looked.reserved);
      if (handed !== null) return handed;
    }
  });

/** Returns whether an error comes again when the node asks again. */
export const isFinal = (error: unknown): boolean => toFault(error).retry === "never";

/** Lets a job wait again whose run could not be claimed. Returns why, for people. */
export async function giveBack(
  hub: Hub,
  { job, attempt, node }: { job: Job; attempt: number; node: LiveNode },
  error: unknown,
): Promise<string> {
  hub.log.warn({ error, jobId: job.id, attempt, node: node.name }, "the run of a job could not be claimed");
  const said = isFault(error) ? sentenceOf(error) : "the hub had an error";
  const reason = `${node.name} could not be given the run: ${said}`;
  const until = new Date(hub.now() + BAN_AFTER_CLAIM_MS);
  await banNode(hub.db, { jobId: job.id, nodeId: node.id }, { until, reason });
  await endByHub(hub, { jobId: job.id, attempt }, { kind: "interrupted", why: reason });
  return reason;
}

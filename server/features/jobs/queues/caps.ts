import { formatCount } from "#protocol/base/units.ts";
import type { Transaction } from "#prisma/open.ts";

/** Limits that the settings of a queue set now. */
export interface Caps {
  isPaused: boolean;
  /** The queue has a cap. */
  isCapped: boolean;
  /** Why the queue hands out nothing, as a sentence without its end; null while it may. */
  whyFull: string | null;
  /** Ids of the people who have reached their cap of running jobs. */
  fullOwners: readonly string[];
}

const NONE: Caps = { isPaused: false, isCapped: false, whyFull: null, fullOwners: [] };

const jobsWords = (count: number): string => (count === 1 ? "one job" : `${formatCount(count)} jobs`);

/** Says that a queue has reached its cap of running jobs. */
const whyFull = (queue: string, most: number): string =>
  `the queue ${queue} runs ${most === 0 ? "no job" : `${jobsWords(most)} at most`}`;

/** Says that a person has reached the cap of running jobs. */
export const whyOwnerFull = (owner: string, { queue, most }: { queue: string; most: number }): string =>
  `${jobsWords(most)} of ${owner} may run in the queue ${queue} at a time, and so many run`;

/** Returns whether a queue is paused, and counts its running jobs against its caps. A queue without caps costs one query. */
export async function readCaps(tx: Pick<Transaction, "jobQueue" | "job">, queue: string): Promise<Caps> {
  const row = await tx.jobQueue.findUnique({ where: { name: queue } });
  const { mostRunning = null, mostPerOwner = null, pausedAt = null } = row ?? {};
  const isPaused = pausedAt !== null;
  if (mostRunning === null && mostPerOwner === null) return { ...NONE, isPaused };
  const where = { queue, state: "running" };
  if (mostRunning !== null && (await tx.job.count({ where })) >= mostRunning)
    return { isPaused, isCapped: true, whyFull: whyFull(queue, mostRunning), fullOwners: [] };
  if (mostPerOwner === null) return { ...NONE, isPaused, isCapped: true };
  const owners = await tx.job.groupBy({ by: ["ownerId"], where, _count: true });
  return {
    isPaused,
    isCapped: true,
    whyFull: null,
    fullOwners: owners.filter(({ _count: count }) => count >= mostPerOwner).map(({ ownerId }) => ownerId),
  };
}

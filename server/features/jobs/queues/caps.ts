import { formatCount } from "#protocol/base/units.ts";
import type { Transaction } from "#prisma/open.ts";

/** Limits that the caps of a queue set now. */
export interface Caps {
  /** The queue has a cap. */
  isCapped: boolean;
  /** Why the queue hands out nothing, as a sentence without its end; null while it may. */
  whyFull: string | null;
  /** Ids of the people who have reached their cap of running jobs. */
  fullOwners: readonly string[];
}

const NONE: Caps = { isCapped: false, whyFull: null, fullOwners: [] };

const jobsWords = (count: number): string => (count === 1 ? "one job" : `${formatCount(count)} jobs`);

/** Says that a queue has reached its cap of running jobs. */
const whyFull = (queue: string, most: number): string =>
  `the queue ${queue} runs ${most === 0 ? "no job" : `${jobsWords(most)} at most`}`;

/** Says that a person has reached the cap of running jobs. */
export const whyOwnerFull = (owner: string, { queue, most }: { queue: string; most: number }): string =>
  `${jobsWords(most)} of ${owner} may run in the queue ${queue} at a time, and so many run`;

/** Counts the running jobs of a queue against its caps. Queues without one cost a look at their row. */
export async function readCaps(tx: Pick<Transaction, "jobQueue" | "job">, queue: string): Promise<Caps> {
  const row = await tx.jobQueue.findUnique({ where: { name: queue } });
  const { mostRunning = null, mostPerOwner = null } = row ?? {};
  if (mostRunning === null && mostPerOwner === null) return NONE;
  const where = { queue, state: "running" };
  if (mostRunning !== null && (await tx.job.count({ where })) >= mostRunning)
    return { isCapped: true, whyFull: whyFull(queue, mostRunning), fullOwners: [] };
  if (mostPerOwner === null) return { ...NONE, isCapped: true };
  const owners = await tx.job.groupBy({ by: ["ownerId"], where, _count: true });
  return {
    isCapped: true,
    whyFull: null,
    fullOwners: owners.filter(({ _count: count }) => count >= mostPerOwner).map(({ ownerId }) => ownerId),
  };
}

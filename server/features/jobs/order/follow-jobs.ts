import { formatCount } from "#protocol/base/units.ts";
import type { EventRow } from "#protocol/wire/views.ts";
import { Prisma } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { notifyQueues } from "#server/core/live/job-memory.ts";
import { inPieces } from "../job-columns.ts";

/**
 * Order between jobs. A job that follows others is not due before all of them are done. When one of them fails or is canceled,
 * it fails too, and so do the jobs that follow it; a retry of the one lets them wait again.
 */

/** Time at which a job is due that follows others, the end of the year 9999: the end of the last one sets it anew. */
const NOT_DUE = new Date(253_402_300_799_000);

/** Tells whether a job waits for others that it follows. */
export const isHeld = ({ dueAt }: { dueAt: Date }): boolean => dueAt.getTime() === NOT_DUE.getTime();

/** Changes of followers, announced after the commit. */
export interface Followed {
  queues: string[];
  event: EventRow | null;
}

/** Returns why a job waits for others. */
function waitWords(open: readonly string[]): string {
  const [first = ""] = open;
  const others = open.length - 1;
  const more = others === 0 ? "" : ` and ${formatCount(others)} more`;
  return `it waits until the job ${first}${more} ${others === 0 ? "is" : "are"} done`;
}

/** Holds those of these waiting jobs that follow unfinished ones, and makes the others due. Returns the queues of these. */
async function holdOrFree(tx: Transaction, ids: Iterable<string>, at: Date): Promise<string[]> {
  const queues: string[] = [];
  for (const some of inPieces([...new Set(ids)])) {
    const jobs = await tx.job.findMany({
      where: { id: { in: some }, state: "waiting" },
      select: { id: true, queue: true, dueAt: true },
    });
    const links = await tx.jobAfter.findMany({
      where: { jobId: { in: jobs.map(({ id }) => id) }, before: { state: { not: "done" } } },
      select: { jobId: true, before: { select: { name: true } } },
      orderBy: { afterId: "asc" },
    });
    const open = new Map<string, string[]>();
    for (const { jobId, before } of links) open.set(jobId, [...(open.get(jobId) ?? []), before.name]);
    const byReason = new Map<string, string[]>();
    for (const [id, names] of open) {
      const reason = waitWords(names);
      byReason.set(reason, [...(byReason.get(reason) ?? []), id]);
    }
    for (const [reason, held] of byReason)
      await tx.job.updateMany({ where: { id: { in: held } }, data: { dueAt: NOT_DUE, reason } });
    const free = jobs.filter((job) => !open.has(job.id) && isHeld(job));
    if (free.length === 0) continue;
    const where = { id: { in: free.map(({ id }) => id) } };
    await tx.job.updateMany({ where, data: { dueAt: at, reason: null } });
    queues.push(...free.map(({ queue }) => queue));
  }
  return queues;
}

type Named = { id: string; name: string };

/**
 * Returns the waiting jobs that follow failed or canceled ones, and those that follow these in turn, however long the chain is.
 * Looks from the jobs that go before (`afterId`), or from the followers (`jobId`).
 */
const findBroken = (tx: Transaction, ids: readonly string[], side: "afterId" | "jobId"): Promise<Named[]> => {
  const chosen = side === "afterId" ? Prisma.sql`a."afterId"` : Prisma.sql`a."jobId"`;
  return tx.$queryRaw<Named[]>`
    WITH RECURSIVE broken(id) AS (
      SELECT a."jobId" FROM "JobAfter" a
        JOIN "Job" b ON b."id" = a."afterId" AND b."state" IN ('failed', 'canceled')
        JOIN "Job" j ON j."id" = a."jobId" AND j."state" = 'waiting'
        WHERE ${chosen} IN (${Prisma.join([...ids])})
      UNION
      SELECT a."jobId" FROM broken JOIN "JobAfter" a ON a."afterId" = broken.id
        JOIN "Job" j ON j."id" = a."jobId" AND j."state" = 'waiting'
    )
    SELECT j."id", j."name" FROM broken JOIN "Job" j ON j."id" = broken.id`;
};

/** Fails jobs whose predecessors failed or were canceled, and says which. */
async function fail(tx: Transaction, ids: readonly string[], at: Date): Promise<void> {
  for (const some of inPieces(ids)) {
    const data = { state: "failed", endedAt: at, dueAt: at };
    await tx.job.updateMany({ where: { id: { in: some } }, data });
  }
  for (const some of inPieces(ids)) {
    const over = { state: { in: ["failed", "canceled"] } };
    await tx.jobAfter.updateMany({ where: { jobId: { in: some }, before: over }, data: { isBroken: true } });
    await tx.$executeRaw`
      UPDATE "Job" SET "reason" = (
        SELECT 'the job ' || b."name" || ', which it follows, ' || CASE b."state" WHEN 'failed' THEN 'failed' ELSE 'was canceled' END
        FROM "JobAfter" a JOIN "Job" b ON b."id" = a."afterId"
        WHERE a."jobId" = "Job"."id" AND a."isBroken" LIMIT 1)
      WHERE "id" IN (${Prisma.join(some)})`;
  }
}

/** Fails what follows failed jobs. Returns the event about it; null when there is nothing. */
async function breakChain(
  tx: Transaction,
  hub: Hub,
  { ids, side }: { ids: readonly string[]; side: "afterId" | "jobId" },
): Promise<EventRow | null> {
  const broken = new Map<string, string>();
  for (const some of inPieces(ids)) for (const { id, name } of await findBroken(tx, some, side)) broken.set(id, name);
  const [name] = broken.values();
  if (name === undefined) return null;
  await fail(tx, [...broken.keys()], new Date(hub.now()));
  const what = broken.size === 1 ? `The job ${name}` : `${formatCount(broken.size)} jobs`;
  const text = `${what} failed: a job that goes before did not complete`;
  return recordEvent(tx, { at: hub.now(), kind: "job-failed", work: "risk", text });
}

/** Moves the followers of jobs that are done, have failed or were canceled. */
export async function settleFollowers(tx: Transaction, hub: Hub, ended: readonly string[]): Promise<Followed> {
  const event = await breakChain(tx, hub, { ids: ended, side: "afterId" });
  const followers: string[] = [];
  for (const some of inPieces(ended)) {
    const where = { afterId: { in: some }, job: { state: "waiting" } };
    for (const { jobId } of await tx.jobAfter.findMany({ where, select: { jobId: true } })) followers.push(jobId);
  }
  return { event, queues: await holdOrFree(tx, followers, new Date(hub.now())) };
}

/** Holds new jobs until those that they follow are done. */
export async function holdNew(
  tx: Transaction,
  hub: Hub,
  links: readonly { jobId: string; afterId: string }[],
): Promise<void> {
  for (const some of inPieces(links)) await tx.jobAfter.createMany({ data: some });
  const followers = links.map(({ jobId }) => jobId);
  await holdOrFree(tx, followers, new Date(hub.now()));
}

/** Lets the followers that failed because of retried jobs wait again, and holds all of them as their order says. */
export async function retryFollowers(tx: Transaction, hub: Hub, retried: readonly string[]): Promise<Followed> {
  const all = new Set(retried);
  for (const some of inPieces(retried)) {
    const found = await tx.$queryRaw<{ id: string }[]>`
      WITH RECURSIVE again(id) AS (
        SELECT a."jobId" FROM "JobAfter" a JOIN "Job" j ON j."id" = a."jobId" AND j."state" = 'failed'
          WHERE a."isBroken" AND a."afterId" IN (${Prisma.join(some)})
        UNION
        SELECT a."jobId" FROM again JOIN "JobAfter" a ON a."afterId" = again.id AND a."isBroken"
          JOIN "Job" j ON j."id" = a."jobId" AND j."state" = 'failed'
      )
      SELECT id FROM again`;
    for (const { id } of found) all.add(id);
  }
  for (const some of inPieces([...all].slice(retried.length))) {
    const data = { state: "waiting", endedAt: null, dueAt: NOT_DUE, failures: 0, setbacks: 0, reason: null };
    await tx.job.updateMany({ where: { id: { in: some } }, data });
  }
  for (const some of inPieces([...all]))
    await tx.jobAfter.updateMany({ where: { jobId: { in: some } }, data: { isBroken: false } });
  const event = await breakChain(tx, hub, { ids: [...all], side: "jobId" });
  return { event, queues: await holdOrFree(tx, all, new Date(hub.now())) };
}

/** Shows what happened to followers, and wakes the nodes that wait for them. Call it after the commit. */
export function announceFollowed(hub: Hub, { queues, event }: Followed): void {
  if (event !== null) emit(hub, event, ["jobs"]);
  notifyQueues(hub.jobs, queues);
}

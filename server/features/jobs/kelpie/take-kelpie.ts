import { jobStatesBefore } from "#protocol/jobs/job-states.ts";
import type { KelpieJobView, KelpieWorker } from "#protocol/jobs/kelpie.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import { Prisma } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import { wordsOf, type SqlWords } from "#prisma/sql-words.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { readCaps } from "../queues/caps.ts";
import { endByHub } from "../end-by-hub.ts";
import { machineWords, UNREADABLE } from "../settle-end.ts";
import { noteWebhook } from "./call-webhooks.ts";
import { viewOf } from "./show-kelpie.ts";

/** Hands jobs to Kelpie workers: in the order of every queue, without those that the machine is banned for. */

const WAITING = jobStatesBefore("running", "hub");

interface Now {
  now: Date;
  /** People who have reached their cap of running jobs. */
  fullOwners: readonly string[];
}

/** Returns the query for the next job of a queue that a machine may have now. */
function nextOf(
  words: SqlWords,
  { container_group_id: queue, machine_id: machine }: KelpieWorker,
  about: Now,
): Prisma.Sql {
  const { now, fullOwners } = about;
  return Prisma.sql`
    SELECT j."seq" FROM "Job" j
    WHERE j."queue" = ${queue} AND j."state" IN (${Prisma.join(WAITING)}) AND ${words.unindexed('j."dueAt"')} <= ${now}
      AND EXISTS (SELECT 1 FROM "KelpieJob" k WHERE k."jobId" = j."id")
      AND (${fullOwners.length === 0} OR j."ownerId" NOT IN ${words.texts(fullOwners)})
      AND NOT EXISTS (SELECT 1 FROM "JobMachineBan" b
        WHERE b."jobId" = j."id" AND b."machine" = ${machine} AND b."until" > ${now})
      AND NOT EXISTS (SELECT 1 FROM "JobQueue" q WHERE q."name" = j."queue" AND q."pausedAt" IS NOT NULL)
    ORDER BY j."rank", j."seq" LIMIT 1`;
}

/** Sets the next job running in one statement and returns its id; null when there is none. */
async function claim(tx: Transaction, worker: KelpieWorker, now: Date): Promise<string | null> {
  const { whyFull, fullOwners } = await readCaps(tx, worker.container_group_id);
  if (whyFull !== null) return null;
  const rows = await tx.$queryRaw<{ id: string }[]>`
    UPDATE "Job" SET "state" = 'running', "attempts" = "attempts" + 1, "nodeId" = NULL, "reason" = NULL, "startedAt" = ${now}
    WHERE "seq" = (${nextOf(wordsOf(tx), worker, { now, fullOwners })}) RETURNING "id"`;
  return rows[0]?.id ?? null;
}

/** Hands the next job of its queue to a Kelpie worker; null when there is none, and when it could not be read and failed. */
export async function takeKelpieJob(hub: Hub, worker: KelpieWorker): Promise<KelpieJobView | null> {
  const now = hub.now();
  const at = new Date(now);
  // Idle workers ask every ten seconds: without a job they do not wait for the one writer of the database.
  const { whyFull, fullOwners } = await readCaps(hub.db, worker.container_group_id);
  if (whyFull !== null) return null;
  const waiting = await hub.db.$queryRaw<{ seq: bigint }[]>(nextOf(wordsOf(hub.db), worker, { now: at, fullOwners }));
  if (waiting.length === 0) return null;
  const taken = await hub.db.$transaction(async (tx) => {
    const id = await claim(tx, worker, at);
    if (id === null) return null;
    const machine = worker.machine_id;
    await tx.kelpieJob.update({ where: { jobId: id }, data: { machine, heartbeatAt: at } });
    const job = await tx.job.findUniqueOrThrow({ where: { id }, include: { kelpie: true } });
    await tx.jobAttempt.create({
      data: { jobId: id, attempt: job.attempts, nodeId: null, machine, bootId: "", startedAt: at },
    });
    await noteWebhook(tx, job, { status: "running", at });
    const text = `${machineWords({ machine })} works on the job ${visibleText(job.name)} (attempt ${job.attempts})`;
    return { job, event: await recordEvent(tx, { at: now, kind: "job-started", work: "moving", text }) };
  });
  if (taken === null) return null;
  const view = viewOf(taken.job);
  if (view === null) {
    const { id: jobId, attempts: attempt } = taken.job;
    await endByHub(hub, { jobId, attempt }, { kind: "interrupted", why: UNREADABLE });
    return null;
  }
  hub.jobs.mayRun = true;
  hub.jobs.mayCall = true;
  hub.jobs.heard.set(taken.job.id, now);
  emit(hub, taken.event, ["jobs"]);
  return view;
}

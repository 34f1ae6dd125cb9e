import { setTimeout as sleep } from "node:timers/promises";
import type { BucketJob } from "#prisma/client/client.ts";
import { bucketJobStatesBefore, PLAN_LASTS_MS, type BucketJobState } from "#protocol/buckets/bucket-jobs.ts";
import { BUCKET_VERBS } from "#protocol/buckets/bucket-verbs.ts";
import { Fault, isFault, toFault, type FaultData } from "#protocol/faults/fault.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { carryOut, type ChunkDone } from "./carry-out.ts";
import { gatherPlan, plannedObject } from "./gather-plan.ts";
import { askedOf, MOST_FAULTS } from "./job-row.ts";
import { newProgress, type JobProgress } from "#server/core/live/job-board.ts";

/**
 * Runs bucket jobs: makes plans as they are requested, and carries out confirmed ones one after another. All progress is in the
 * database, chunk by chunk, so that a hub resumes after a kill. Waits for a store that is unreachable.
 */

const LOOK_EVERY_MS = 30_000;
/** A stopping hub waits at most this long for a store. */
const LAST_CALL_MS = 2_000;
const STALE_EVERY_MS = 1_000;
/** A store that does not answer is retried after `WAIT_MS`, and given up after `MOST_WAITS` retries without progress. */
const WAIT_MS = 15_000;
const MOST_WAITS = 20;
/** Ended jobs are shown this long, then deleted. */
const KEPT_MS = 30 * 86_400_000;
/** After this number of ACCESS_DENIED answers and no success, the remaining objects would be refused too. */
const TELLING = 20;

const WORDS = { copy: "Copied", move: "Moved", delete: "Deleted", revive: "Brought back" } as const;

interface Runner {
  hub: Hub;
  stopping: AbortSignal;
}

const storedFault = (fault: FaultData | null): string | null => (fault === null ? null : JSON.stringify(fault));

/** Changes the state of a job; returns false when its present state does not allow that. */
async function become(
  hub: Hub,
  job: Pick<BucketJob, "id">,
  to: { state: BucketJobState } & Partial<Pick<BucketJob, "fault" | "plan" | "startedAt" | "endedAt">>,
): Promise<boolean> {
  const where = { id: job.id, state: { in: bucketJobStatesBefore(to.state) } };
  const { count } = await hub.db.bucketJob.updateMany({ where, data: to });
  emit(hub, null, ["transfers"]);
  return count === 1;
}

async function makePlan({ hub, stopping }: Runner, job: BucketJob): Promise<void> {
  const progress = newProgress();
  hub.bucketJobs.jobs.set(job.id, progress);
  const stop = () => progress.stop.abort();
  stopping.addEventListener("abort", stop);
  try {
    const store = await hub.stores.open(job.profileId);
    const plan = await gatherPlan({ hub, store, asked: askedOf(job), jobId: job.id, progress });
    await become(hub, job, { state: "planned", plan: JSON.stringify(plan) });
  } catch (error) {
    // The next hub makes the plan again; a cancelled job has ended already.
    if (stopping.aborted || progress.stop.signal.aborted) return;
    const endedAt = new Date(hub.now());
    await become(hub, job, { state: "failed", fault: storedFault(toFault(error).toData()), endedAt });
    await hub.db.bucketJobChunk.deleteMany({ where: { jobId: job.id } });
  } finally {
    stopping.removeEventListener("abort", stop);
    hub.bucketJobs.jobs.delete(job.id);
  }
}

/** Records the end of a chunk in one transaction, so that finished work is neither forgotten nor counted twice. */
async function keepChunk(hub: Hub, jobId: string, { seq, done }: { seq: number; done: ChunkDone }): Promise<void> {
  await hub.db.$transaction(async (tx) => {
    const { count } = await tx.bucketJobChunk.deleteMany({ where: { jobId, seq } });
    if (count === 0) return;
    const row = await tx.bucketJob.findUniqueOrThrow({ where: { id: jobId } });
    const faults = [...(JSON.parse(row.faults) as unknown[]), ...done.failures].slice(0, MOST_FAULTS);
    await tx.bucketJob.update({
      where: { id: jobId },
      data: {
        doneObjects: { increment: done.doneObjects },
        doneBytes: { increment: BigInt(done.doneBytes) },
        failedObjects: { increment: done.failures.length },
        faults: JSON.stringify(faults),
      },
    });
  });
}

const allRefused = ({ doneObjects, failures }: ChunkDone): boolean =>
  doneObjects === 0 && failures.length >= TELLING && failures.every(({ fault }) => fault.code === "ACCESS_DENIED");

async function runChunks(runner: Runner, job: BucketJob, progress: JobProgress): Promise<void> {
  const { hub } = runner;
  const asked = askedOf(job);
  let waits = 0;
  let toldAt = 0;
  const onMoved = () => {
    if (hub.now() - toldAt < STALE_EVERY_MS) return;
    toldAt = hub.now();
    emit(hub, null, ["transfers"]);
  };
  for (;;) {
    const chunk = await hub.db.bucketJobChunk.findFirst({ where: { jobId: job.id }, orderBy: { seq: "asc" } });
    if (chunk === null) return;
    if (progress.stop.signal.aborted) throw new Fault("CANCELLED", { op: "bucket job" });
    const objects = plannedObject.array().parse(JSON.parse(chunk.objects));
    try {
      const store = await hub.stores.open(job.profileId);
      const done = await carryOut({ hub, store, jobId: job.id, asked, objects, progress, onMoved });
      waits = 0;
      progress.waitsFor = null;
      await keepChunk(hub, job.id, { seq: chunk.seq, done });
      if (allRefused(done))
        throw new Fault("ACCESS_DENIED", { op: asked.action, subject: done.failures[0]?.key ?? "" });
    } catch (error) {
      const fault = toFault(error);
      if (fault.retry === "never" || ++waits > MOST_WAITS) throw fault;
      progress.waitsFor = fault.toData();
      emit(hub, null, ["transfers"]);
      await hub.bucketJobs.wake.wait({ timeoutMs: WAIT_MS, abort: progress.stop.signal });
    } finally {
      progress.doneObjects = 0;
      progress.doneBytes = 0;
    }
  }
}

async function runJob(runner: Runner, job: BucketJob): Promise<void> {
  const { hub, stopping } = runner;
  const progress = newProgress();
  hub.bucketJobs.jobs.set(job.id, progress);
  const stop = () => progress.stop.abort();
  stopping.addEventListener("abort", stop);
  try {
    if (job.state === "waiting" && !(await become(hub, job, { state: "running", startedAt: new Date(hub.now()) })))
      return;
    await runChunks(runner, job, progress);
    await endJob(hub, job, { state: "done", fault: null });
  } catch (error) {
    // The job stays `running`, so the next start of the hub continues it.
    if (stopping.aborted) return;
    const fault = toFault(error);
    if (fault.code === "INTERNAL") hub.log.error({ error }, "a job in a bucket failed");
    await endJob(
      hub,
      job,
      progress.stop.signal.aborted ? { state: "cancelled", fault: null } : { state: "failed", fault },
    );
  } finally {
    stopping.removeEventListener("abort", stop);
    hub.bucketJobs.jobs.delete(job.id);
  }
}

/** Records how a job ended: in its row, in the events and in the audit log. */
async function endJob(
  hub: Hub,
  job: BucketJob,
  end: { state: "done" | "failed" | "cancelled"; fault: Fault | null },
): Promise<void> {
  const { state, fault } = end;
  const now = new Date(hub.now());
  const event = await hub.db.$transaction(async (tx) => {
    const where = { id: job.id, state: { in: bucketJobStatesBefore(state) } };
    const data = { state, endedAt: now, fault: storedFault(fault?.toData() ?? null) };
    if ((await tx.bucketJob.updateMany({ where, data })).count === 0) return null;
    await tx.bucketJobChunk.deleteMany({ where: { jobId: job.id } });
    const row = await tx.bucketJob.findUniqueOrThrow({ where: { id: job.id } });
    const { action } = askedOf(row);
    const stayed = row.failedObjects === 0 ? "" : `; ${formatCount(row.failedObjects)} stayed as they were`;
    const what = `${formatCount(row.doneObjects)} objects (${formatBytes(Number(row.doneBytes))}) in ${row.profileName}${stayed}`;
    const how = { done: "", failed: ", then it failed", cancelled: ", then it was cancelled" }[state];
    await tx.audit.create({
      data: {
        at: now,
        actorKind: "hub",
        actor: `hub, for ${row.startedBy}`,
        action: `${BUCKET_VERBS[action]} objects: ${state}`,
        subject: what,
        subjectId: row.id,
      },
    });
    return recordEvent(tx, {
      at: now.getTime(),
      kind: "bucket-job",
      work: state === "done" && row.failedObjects === 0 ? "safe" : "risk",
      text: `${WORDS[action]} ${what}${how}`,
      fault: fault?.toData() ?? null,
    });
  });
  emit(hub, event, ["transfers"]);
}

async function sweepOld(hub: Hub): Promise<void> {
  const now = hub.now();
  const planned = { state: "planned", plannedAt: { lt: new Date(now - PLAN_LASTS_MS) } };
  const stale = await hub.db.bucketJob.findMany({ where: planned, select: { id: true } });
  for (const job of stale) {
    if (await become(hub, job, { state: "expired", endedAt: new Date(now) })) {
      await hub.db.bucketJobChunk.deleteMany({ where: { jobId: job.id } });
    }
  }
  await hub.db.bucketJob.deleteMany({ where: { endedAt: { lt: new Date(now - KEPT_MS) } } });
}

/** Starts the loops of bucket jobs. `stop` waits briefly until the present work can be left. */
export function startBucketJobs(hub: Hub): { stop: () => Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const runner: Runner = { hub, stopping: signal };
  const loop = async (states: BucketJobState[], work: (job: BucketJob) => Promise<void>): Promise<void> => {
    while (!signal.aborted) {
      try {
        const where = { state: { in: states } };
        const job = await hub.db.bucketJob.findFirst({ where, orderBy: [{ plannedAt: "asc" }, { id: "asc" }] });
        if (job === null) {
          const wait = hub.bucketJobs.wake.wait({ timeoutMs: LOOK_EVERY_MS, abort: signal });
          // A job may have come before the wait began.
          if ((await hub.db.bucketJob.count({ where })) === 0) await wait;
          if (!signal.aborted) await sweepOld(hub);
          continue;
        }
        await work(job);
      } catch (error) {
        if (signal.aborted) return;
        hub.log.error({ error: isFault(error) ? error.message : error }, "work on the jobs of buckets failed");
        await hub.bucketJobs.wake.wait({ timeoutMs: LOOK_EVERY_MS, abort: signal });
      }
    }
  };
  const loops = [
    loop(["planning"], (job) => makePlan(runner, job)),
    // Includes jobs that a killed hub left running.
    loop(["running", "waiting"], (job) => runJob(runner, job)),
  ];
  return {
    stop: async () => {
      stopping.abort();
      // The next hub repeats what is cut off.
      await Promise.race([Promise.allSettled(loops), sleep(LAST_CALL_MS, null, { ref: false })]);
    },
  };
}

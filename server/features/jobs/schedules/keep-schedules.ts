import { isFault, sentenceOf } from "#protocol/faults/fault.ts";
import { jobSubmission } from "#protocol/jobs/job-spec.ts";
import { hasRole, role } from "#protocol/wire/requests.ts";
import type { JobSchedule } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { emit } from "#server/core/events/record-event.ts";
import { readStored } from "#server/platform/stored-json.ts";
import { openScheduleSecrets } from "../job-secrets.ts";
import { submitJobs } from "../submit-jobs.ts";
import { nextTime } from "./next-time.ts";

/** Schedules of one round. */
const AT_ONCE = 100;
const LONGEST_PROBLEM = 500;

/** How a time of a schedule ended. */
type Outcome = { jobId: string } | { problem: string; pauses?: true };

/** Returns why the person of a schedule submits nothing; null when they may. */
async function whyNot({ db }: Hub, { ownerId, owner }: JobSchedule): Promise<string | null> {
  const user = await db.user.findUnique({ where: { id: ownerId } });
  if (user === null) return `the account of ${owner} was removed`;
  if (user.disabledAt !== null) return `the account of ${owner} is disabled`;
  const held = role.safeParse(user.role);
  return held.success && hasRole(held.data, "operator") ? null : `${owner} may not submit jobs any more`;
}

/** Submits the job of a schedule; null when it was removed, replaced or paused since it was found due. */
async function fire(hub: Hub, { id: dueId, nextAt: dueAt }: JobSchedule): Promise<Outcome | null> {
  // One read of both: the secrets of a schedule go with it.
  const schedule = await hub.db.jobSchedule.findUnique({ where: { id: dueId }, include: { secret: true } });
  if (schedule === null || schedule.pausedAt !== null || schedule.nextAt > dueAt) return null;
  const { id, name, ownerId, owner, lastJobId, overlaps, nextAt } = schedule;
  const why = await whyNot(hub, schedule);
  if (why !== null) return { problem: why, pauses: true };
  const job = readStored(schedule.job, jobSubmission);
  if (job === null) return { problem: "its job cannot be read: set the schedule again", pauses: true };
  if (!overlaps && lastJobId !== null) {
    const last = await hub.db.job.findUnique({ where: { id: lastJobId }, select: { state: true } });
    if (last?.state === "waiting" || last?.state === "running") return { problem: "the job before had not ended" };
  }
  const person = { id: ownerId, email: owner, role: "operator" as const };
  // The same time after a kill is the same job.
  const idempotencyKey = `schedule ${id} ${nextAt.toISOString()}`;
  const labels = Object.keys(job.labels).length < 32 ? { schedule: name.slice(0, 128), ...job.labels } : job.labels;
  try {
    const caller = { kind: "person" as const, person, sessionHash: "" };
    const secrets = await openScheduleSecrets(hub, schedule.secret);
    const { jobs } = await submitJobs({ hub, caller }, { jobs: [{ ...job, labels, idempotencyKey, secrets }] });
    const jobId = jobs.at(-1)?.id;
    return jobId === undefined ? { problem: "it made no job" } : { jobId };
  } catch (error) {
    if (!isFault(error)) throw error;
    return { problem: sentenceOf(error.toData()).slice(0, LONGEST_PROBLEM) };
  }
}

/**
 * Submits the jobs whose time has come. Times that passed while the hub was away count as one. A schedule that fails says why, and
 * tries again at its next time.
 */
export const keepSchedules = (hub: Hub): Promise<void> =>
  hub.locks.run("keep schedules", async () => {
    const now = hub.now();
    const due = await hub.db.jobSchedule.findMany({
      where: { pausedAt: null, nextAt: { lte: new Date(now) } },
      orderBy: [{ nextAt: "asc" }, { name: "asc" }],
      take: AT_ONCE,
    });
    for (const schedule of due) {
      try {
        const outcome = await fire(hub, schedule);
        if (outcome === null) continue;
        const after = { nextAt: new Date(nextTime(schedule, now)) };
        const told =
          "jobId" in outcome
            ? { lastJobId: outcome.jobId, lastAt: schedule.nextAt, problem: null }
            : { problem: outcome.problem, ...(outcome.pauses === true && { pausedAt: new Date(now) }) };
        // A person may have replaced it meanwhile.
        const where = { id: schedule.id, nextAt: schedule.nextAt };
        await hub.db.jobSchedule.updateMany({ where, data: { ...after, ...told } });
      } catch (error) {
        // One failure must not stop the other schedules.
        hub.log.error({ error, schedule: schedule.name }, "a schedule of jobs could not be kept");
      }
    }
    if (due.length > 0) emit(hub, null, ["jobs"]);
  });

import * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import { jobSubmission } from "#protocol/jobs/job-spec.ts";
import { jobState } from "#protocol/jobs/job-states.ts";
import { expandJobs } from "#protocol/jobs/matrix.ts";
import {
  MOST_SCHEDULES,
  type JobScheduleRow,
  type pauseScheduleInput,
  type setScheduleInput,
} from "#protocol/jobs/schedules.ts";
import { audit } from "#server/core/api/audit.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { emit } from "#server/core/events/record-event.ts";
import { newId } from "#server/platform/random-id.ts";
import { readStored } from "#server/platform/stored-json.ts";
import { checkPlaces } from "../bytes/check-places.ts";
import { sealScheduleSecrets } from "../job-secrets.ts";
import { nextTime } from "./next-time.ts";

const secretNames = z.array(z.string());
type Called = Context & { caller: PersonCaller };

/** Returns all schedules by name. */
export async function listSchedules({ db }: Pick<Hub, "db">): Promise<JobScheduleRow[]> {
  const rows = await db.jobSchedule.findMany({
    orderBy: { name: "asc" },
    take: MOST_SCHEDULES,
    include: { secret: { select: { names: true } } },
  });
  const ids = rows.flatMap(({ lastJobId }) => lastJobId ?? []);
  const jobs = await db.job.findMany({ where: { id: { in: ids } }, select: { id: true, state: true } });
  const states = new Map(jobs.map(({ id, state }) => [id, jobState.safeParse(state).data ?? "failed"]));
  return rows.map(({ name, cron, timeZone, overlaps, owner, problem, ...row }) => {
    const job = readStored(row.job, jobSubmission);
    const state = row.lastJobId === null ? undefined : states.get(row.lastJobId);
    return {
      name,
      cron,
      timeZone,
      overlaps,
      owner,
      problem,
      queue: job?.queue ?? "",
      secrets: (row.secret === null ? null : readStored(row.secret.names, secretNames)) ?? [],
      command: job === null ? "" : [job.command, ...job.arguments].join(" "),
      pausedAt: row.pausedAt?.getTime() ?? null,
      nextAt: row.pausedAt === null ? row.nextAt.getTime() : null,
      lastAt: row.lastAt?.getTime() ?? null,
      lastJob: row.lastJobId === null || state === undefined ? null : { id: row.lastJobId, state },
    };
  });
}

/**
 * Makes a schedule, or replaces the one of that name, which is the caller's then. The secrets of its job are sealed and stored
 * apart from it. Returns its next time, epoch ms. @throws Fault
 * BAD_INPUT when no job can be made of it, CONFLICT when there are too many
 */
export async function setSchedule(
  { hub, caller }: Called,
  { name, cron, timeZone, overlaps, job }: z.infer<typeof setScheduleInput>,
): Promise<{ nextAt: number; isNew: boolean }> {
  const nextAt = nextTime({ cron, timeZone }, hub.now());
  const expanded = expandJobs([job]);
  if ("wrong" in expanded) throw new Fault("BAD_INPUT", { op: "schedule", subject: name, detail: expanded.wrong });
  await checkPlaces(hub, expanded.jobs);
  const { id: ownerId, email: owner } = caller.person;
  const { secrets, ...open } = job;
  const set = { cron, timeZone, overlaps, ownerId, owner, job: JSON.stringify(open), nextAt: new Date(nextAt) };
  // The id is part of where the secrets are sealed and of the key of each job, so a replaced schedule gets another one.
  const id = newId();
  const sealed = await sealScheduleSecrets(hub, id, secrets);
  const names = JSON.stringify(Object.keys(secrets).toSorted());
  const isNew = await hub.db.$transaction(async (tx) => {
    const before = await tx.jobSchedule.findUnique({ where: { name } });
    if (before === null && (await tx.jobSchedule.count()) >= MOST_SCHEDULES)
      throw new Fault("CONFLICT", { op: "schedule", subject: name, detail: `there are ${MOST_SCHEDULES} schedules` });
    if (before !== null) await tx.jobSchedule.delete({ where: { name } });
    const kept = { lastAt: before?.lastAt ?? null, lastJobId: before?.lastJobId ?? null };
    const createdAt = before?.createdAt ?? new Date(hub.now());
    await tx.jobSchedule.create({
      data: {
        id,
        name,
        createdAt,
        ...kept,
        ...set,
        ...(sealed !== null && { secret: { create: { names, ...sealed } } }),
      },
    });
    await audit({ db: tx, now: hub.now }, caller, { action: "set schedule", subject: `${name}: ${cron} ${timeZone}` });
    return before === null;
  });
  emit(hub, null, ["jobs"]);
  return { nextAt, isNew };
}

/** Pauses a schedule, or lets it go on with its next time. @throws Fault NOT_FOUND */
export async function pauseSchedule(
  { hub, caller }: Called,
  { name, isPaused }: z.infer<typeof pauseScheduleInput>,
): Promise<{ ok: true }> {
  const row = await hub.db.jobSchedule.findUnique({ where: { name } });
  if (row === null) throw new Fault("NOT_FOUND", { subject: `the schedule ${name}` });
  const now = hub.now();
  const change = isPaused
    ? { pausedAt: new Date(now) }
    : { pausedAt: null, problem: null, nextAt: new Date(nextTime(row, now)) };
  await hub.db.$transaction(async (tx) => {
    await tx.jobSchedule.update({ where: { name }, data: change });
    const action = isPaused ? "pause schedule" : "resume schedule";
    await audit({ db: tx, now: hub.now }, caller, { action, subject: name });
  });
  emit(hub, null, ["jobs"]);
  return { ok: true };
}

/** Removes a schedule. Its jobs stay. @throws Fault NOT_FOUND */
export async function removeSchedule({ hub, caller }: Called, { name }: { name: string }): Promise<{ ok: true }> {
  await hub.db.$transaction(async (tx) => {
    const { count } = await tx.jobSchedule.deleteMany({ where: { name } });
    if (count === 0) throw new Fault("NOT_FOUND", { subject: `the schedule ${name}` });
    await audit({ db: tx, now: hub.now }, caller, { action: "remove schedule", subject: name });
  });
  emit(hub, null, ["jobs"]);
  return { ok: true };
}

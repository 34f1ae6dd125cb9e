import {
  byQueue,
  changeJobsInput,
  listJobsInput,
  setQueueCapsInput,
  submitJobsInput,
} from "#protocol/jobs/job-views.ts";
import { byScheduleName, pauseScheduleInput, setScheduleInput } from "#protocol/jobs/schedules.ts";
import { importKelpieInput } from "#protocol/jobs/kelpie.ts";
import { findInLogInput, readLogInput } from "#protocol/jobs/job-log.ts";
import { byId } from "#protocol/wire/requests.ts";
import { operator, router, viewer } from "#server/core/api/trpc.ts";
import { cancelJobs, retryJobs } from "./change-jobs.ts";
import { importKelpieJobs } from "./kelpie/import-kelpie.ts";
import { listJobs, readJob } from "./list-jobs.ts";
import { findInLog } from "./logs/find-in-log.ts";
import { readLog } from "./logs/read-log.ts";
import { listQueues, setCaps, setPaused } from "./queues/queues.ts";
import { listSchedules, pauseSchedule, removeSchedule, setSchedule } from "./schedules/schedules.ts";
import { submitJobs } from "./submit-jobs.ts";

export const jobsRouter = router({
  submit: operator.input(submitJobsInput).mutation(({ ctx, input }) => submitJobs(ctx, input)),
  importKelpie: operator.input(importKelpieInput).mutation(({ ctx, input }) => importKelpieJobs(ctx, input)),
  list: viewer.input(listJobsInput).query(({ ctx, input }) => listJobs(ctx.hub, input)),
  get: viewer.input(byId).query(({ ctx, input }) => readJob(ctx, input)),
  log: viewer.input(readLogInput).query(({ ctx, input }) => readLog(ctx.hub, input)),
  findInLog: viewer.input(findInLogInput).query(({ ctx, input }) => findInLog(ctx.hub, input)),
  cancel: operator.input(changeJobsInput).mutation(({ ctx, input }) => cancelJobs(ctx, input)),
  retry: operator.input(changeJobsInput).mutation(({ ctx, input }) => retryJobs(ctx, input)),
  schedules: viewer.query(({ ctx }) => listSchedules(ctx.hub)),
  setSchedule: operator.input(setScheduleInput).mutation(({ ctx, input }) => setSchedule(ctx, input)),
  pauseSchedule: operator.input(pauseScheduleInput).mutation(({ ctx, input }) => pauseSchedule(ctx, input)),
  removeSchedule: operator.input(byScheduleName).mutation(({ ctx, input }) => removeSchedule(ctx, input)),
  queues: viewer.query(({ ctx }) => listQueues(ctx.hub)),
  setQueueCaps: operator.input(setQueueCapsInput).mutation(({ ctx, input }) => setCaps(ctx, input)),
  pauseQueue: operator.input(byQueue).mutation(({ ctx, input }) => setPaused(ctx, { ...input, isPaused: true })),
  resumeQueue: operator.input(byQueue).mutation(({ ctx, input }) => setPaused(ctx, { ...input, isPaused: false })),
});

import { byQueue, changeJobsInput, listJobsInput, submitJobsInput } from "#protocol/jobs/job-views.ts";
import { importKelpieInput } from "#protocol/jobs/kelpie.ts";
import { findInLogInput, readLogInput } from "#protocol/jobs/job-log.ts";
import { byId } from "#protocol/wire/requests.ts";
import { operator, router, viewer } from "#server/core/api/trpc.ts";
import { cancelJobs, retryJobs } from "./change-jobs.ts";
import { importKelpieJobs } from "./kelpie/import-kelpie.ts";
import { listJobs, readJob } from "./list-jobs.ts";
import { findInLog } from "./logs/find-in-log.ts";
import { readLog } from "./logs/read-log.ts";
import { listQueues, setPaused } from "./queues.ts";
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
  queues: viewer.query(({ ctx }) => listQueues(ctx.hub)),
  pauseQueue: operator.input(byQueue).mutation(({ ctx, input }) => setPaused(ctx, { ...input, isPaused: true })),
  resumeQueue: operator.input(byQueue).mutation(({ ctx, input }) => setPaused(ctx, { ...input, isPaused: false })),
});

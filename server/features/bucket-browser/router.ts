import {
  abortOrphansInput,
  listFolderInput,
  listOrphansInput,
  listVersionsInput,
  objectAt,
  shareInput,
  walkInput,
} from "#protocol/buckets/bucket.ts";
import { bucketUsageInput } from "#protocol/buckets/bucket-usage.ts";
import { listBucketJobsInput, planBucketJobInput } from "#protocol/buckets/bucket-jobs.ts";
import { byId } from "#protocol/wire/requests.ts";
import { admin, operator, router, viewer } from "#server/core/api/trpc.ts";
import { cancelJob, listJobs, planJob, readJob, startJob } from "./decide-job.ts";
import { describeAt } from "./describe-object.ts";
import { listFolder, listVersions } from "./list-folder.ts";
import { abortOrphans, listOrphans } from "./orphans.ts";
import { shareObject } from "./share-object.ts";
import { showImage } from "./show-image.ts";
import { readKeepsVersions, readUsage } from "./usage.ts";
import { walkBelow } from "./walk-below.ts";

/**
 * Everybody who is signed in sees names and sizes; contents of objects, and copies, need an operator. Plans to move or delete,
 * and their confirmation, check for an admin themselves.
 */
export const bucketRouter = router({
  list: viewer
    .input(listFolderInput)
    .query(({ ctx, input, signal }) => listFolder(ctx.hub, input, signal ?? ctx.hub.closing)),
  walk: viewer.input(walkInput).query(({ ctx, input, signal }) => walkBelow(ctx.hub, input, signal ?? ctx.hub.closing)),
  versions: viewer
    .input(listVersionsInput)
    .query(({ ctx, input, signal }) => listVersions(ctx.hub, input, signal ?? ctx.hub.closing)),
  describe: viewer
    .input(objectAt)
    .query(({ ctx, input, signal }) => describeAt(ctx.hub, input, signal ?? ctx.hub.closing)),
  orphans: viewer
    .input(listOrphansInput)
    .query(({ ctx, input, signal }) => listOrphans(ctx.hub, input, signal ?? ctx.hub.closing)),
  abortOrphans: admin.input(abortOrphansInput).mutation(({ ctx, input }) => abortOrphans(ctx, input)),
  image: operator
    .input(objectAt)
    .query(({ ctx, input, signal }) => showImage(ctx.hub, input, signal ?? ctx.hub.closing)),
  plan: operator.input(planBucketJobInput).mutation(({ ctx, input }) => planJob(ctx, input)),
  start: operator.input(byId).mutation(({ ctx, input }) => startJob(ctx, input)),
  cancel: operator.input(byId).mutation(({ ctx, input }) => cancelJob(ctx, input)),
  job: viewer.input(byId).query(({ ctx, input }) => readJob(ctx.hub, input)),
  jobs: viewer.input(listBucketJobsInput).query(({ ctx, input }) => listJobs(ctx.hub, input)),
  usage: viewer.input(bucketUsageInput).query(({ ctx, input }) => readUsage(ctx.hub, input)),
  keepsVersions: viewer.input(bucketUsageInput).query(({ ctx, input }) => readKeepsVersions(ctx.hub, input)),
  share: operator
    .input(shareInput)
    .mutation(({ ctx, input, signal }) => shareObject(ctx, input, signal ?? ctx.hub.closing)),
});

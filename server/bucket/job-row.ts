import type { BucketJob } from "#prisma/client/client.ts";
import {
  bucketAction,
  planBucketJobInput,
  type BucketJobState,
  type BucketJobView,
  type BucketPlan,
  type PlanBucketJob,
} from "#protocol/bucket-jobs.ts";
import type { FaultData } from "#protocol/fault.ts";
import type { JobProgress } from "./job-board.ts";

/** What was asked for; written by this hub. */
export const askedOf = (row: Pick<BucketJob, "asked">): PlanBucketJob =>
  planBucketJobInput.parse(JSON.parse(row.asked));

/** Faults that a job keeps; the others are counted. */
export const MOST_FAULTS = 100;

/** A job as people see it. What it found and what stayed was written by this hub and is only shown. */
export function jobViewOf(row: BucketJob, live: JobProgress | undefined): BucketJobView {
  const { from, target } = askedOf(row);
  return {
    id: row.id,
    profileId: row.profileId,
    profileName: row.profileName,
    bucket: row.bucket,
    action: bucketAction.parse(row.action),
    state: row.state as BucketJobState,
    from,
    target,
    plan: row.plan === null ? null : (JSON.parse(row.plan) as BucketPlan),
    foundObjects: live?.foundObjects ?? 0,
    doneObjects: row.doneObjects + (live?.doneObjects ?? 0),
    doneBytes: Number(row.doneBytes) + (live?.doneBytes ?? 0),
    failedObjects: row.failedObjects,
    faults: JSON.parse(row.faults) as BucketJobView["faults"],
    fault: live?.waitsFor ?? (row.fault === null ? null : (JSON.parse(row.fault) as FaultData)),
    startedBy: row.startedBy,
    plannedAt: row.plannedAt.getTime(),
    startedAt: row.startedAt?.getTime() ?? null,
    endedAt: row.endedAt?.getTime() ?? null,
  };
}

import type { BucketJob } from "#prisma/client/client.ts";
import {
  bucketAction,
  planBucketJobInput,
  type BucketJobState,
  type BucketJobView,
  type BucketPlan,
  type PlanBucketJob,
} from "#protocol/buckets/bucket-jobs.ts";
import type { JobProgress } from "#server/core/live/job-board.ts";
import { storedFault } from "#server/core/events/event-row.ts";
import { parseStored, readStored } from "#server/platform/stored-json.ts";

/** Returns the request of a job, as this hub stored it. */
export const askedOf = (row: Pick<BucketJob, "asked">): PlanBucketJob =>
  planBucketJobInput.parse(JSON.parse(row.asked));

/** Most faults stored with a job; further ones are only counted. */
export const MOST_FAULTS = 100;

/** Converts a row for the pages. Plan and faults are not validated, because this hub wrote them and they are only shown. */
export function jobViewOf(row: BucketJob, live: JobProgress | undefined): BucketJobView {
  // A row whose request cannot be read is shown without folders and with an internal fault.
  const asked = readStored(row.asked, planBucketJobInput);
  const { from, target } = asked ?? { from: "", target: null };
  return {
    id: row.id,
    profileId: row.profileId,
    profileName: row.profileName,
    bucket: row.bucket,
    action: bucketAction.parse(row.action),
    state: row.state as BucketJobState,
    from,
    target,
    plan: row.plan === null ? null : ((parseStored(row.plan) as BucketPlan | undefined) ?? null),
    foundObjects: live?.foundObjects ?? 0,
    doneObjects: row.doneObjects + (live?.doneObjects ?? 0),
    doneBytes: Number(row.doneBytes) + (live?.doneBytes ?? 0),
    failedObjects: row.failedObjects,
    faults: (parseStored(row.faults) as BucketJobView["faults"] | undefined) ?? [],
    fault: live?.waitsFor ?? (asked === null ? { code: "INTERNAL" } : storedFault(row.fault)),
    startedBy: row.startedBy,
    plannedAt: row.plannedAt.getTime(),
    startedAt: row.startedAt?.getTime() ?? null,
    endedAt: row.endedAt?.getTime() ?? null,
  };
}

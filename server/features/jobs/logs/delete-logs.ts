import { isFault } from "#protocol/faults/fault.ts";
import { logPartKey } from "#protocol/jobs/job-log.ts";
import { DELETE_BATCH, deleteMany } from "#storage/s3/delete-many.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { partAt } from "./keep-log-part.ts";

/**
 * Deletes the logs of jobs from their buckets. Returns the ids of jobs some of whose parts are still there, because a bucket
 * could not be asked: these are tried again later.
 */
export async function deleteLogs(
  { db, stores, log }: Pick<Hub, "db" | "stores" | "log">,
  jobs: readonly { id: string; run: string }[],
): Promise<Set<string>> {
  const left = new Set<string>();
  const runs = new Map(jobs.map(({ id, run }) => [id, run]));
  const parts = await db.jobLogPart.findMany({ where: { jobId: { in: [...runs.keys()] } } });
  const profiles = Map.groupBy(parts, ({ profileId }) => profileId);
  for (const [profileId, its] of profiles) {
    try {
      const { client, access, prefix } = await stores.open(profileId);
      const keys = new Map(
        its.map((part) => [logPartKey(prefix, partAt(runs.get(part.jobId) ?? "", part)), part.jobId]),
      );
      const all = [...keys.keys()];
      for (let at = 0; at < all.length; at += DELETE_BATCH) {
        const failures = await deleteMany(client, access.bucket, all.slice(at, at + DELETE_BATCH));
        for (const key of failures.keys()) left.add(keys.get(key) ?? "");
      }
    } catch (error) {
      // The profile was removed, and with it the hub's way to the bucket.
      if (isFault(error) && error.code === "NOT_FOUND") continue;
      log.warn({ error, profileId }, "logs of jobs could not be deleted");
      for (const { jobId } of its) left.add(jobId);
    }
  }
  return left;
}

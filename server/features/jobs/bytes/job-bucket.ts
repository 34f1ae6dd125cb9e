import { liesInOwnFolder } from "#protocol/checkpoint/keys.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { JobPlacePart } from "#protocol/jobs/job-bytes.ts";
import type { JobInput, JobOutput } from "#protocol/jobs/job-places.ts";
import { jobSpec } from "#protocol/jobs/job-spec.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";
import { sealingOf } from "#server/core/profiles/seal-keys.ts";
import { readStored } from "#server/platform/stored-json.ts";
import { holdsLease } from "../holds-lease.ts";
import type { LeasedAttempt } from "./lease-of.ts";
import type { OfferedJob } from "./next-job.ts";

/** The bucket of an input or output of an attempt, as its node may use it. */
export interface JobBucket {
  place: JobInput | JobOutput;
  store: OpenStore;
  /** Returns whether a key lies in Tidemark's own folder under a profile of this bucket, at any endpoint. */
  isOwn(key: string): boolean;
}

/** Returns a test of keys of a bucket: whether they lie in Tidemark's own folders under any of its profiles. */
export async function ownKeysOf(db: Hub["db"], bucket: string): Promise<(key: string) => boolean> {
  const rows = await db.profile.findMany({ where: { bucket }, select: { prefix: true } });
  const prefixes = rows.map(({ prefix }) => prefix);
  return (key) => liesInOwnFolder(prefixes, key);
}

/**
 * Opens the bucket of an input or output for the node that has the lease of the attempt, or of an input for the node that was
 * told of the job. @throws Fault NOT_THIS_NODES when the
 * lease is over or the job has no such place, NOT_FOUND, SEAL_REQUIRED, HISTORY_UNREAD
 */
export async function openJobBucket(
  hub: Hub,
  open: LeasedAttempt | OfferedJob,
  { part, nodeProfileId }: { part: JobPlacePart; nodeProfileId: string },
): Promise<JobBucket> {
  const { job } = open;
  const refuse = (detail: string): Fault =>
    new Fault("NOT_THIS_NODES", { op: `${part.kind} of a job`, subject: job.name, detail });
  if (open.attempt === null) {
    if (part.kind !== "input") throw refuse("the job was not handed to the node");
  } else {
    const { epoch, nodeId, endedAt } = open;
    if (endedAt !== null) throw refuse("the attempt is over");
    if (nodeId === null || !(await holdsLease(hub.db, { run: job.run, epoch, nodeId })))
      throw refuse("another node has the run of the job");
  }
  const spec = readStored(job.spec, jobSpec);
  const places: readonly (JobInput | JobOutput)[] = (part.kind === "input" ? spec?.inputs : spec?.outputs) ?? [];
  const place = places[part.index];
  if (place === undefined) throw refuse(`the job has no ${part.kind} ${part.index + 1}`);
  const profileId = place.profileId ?? nodeProfileId;
  const profile = await hub.db.profile.findUnique({ where: { id: profileId } });
  if (profile === null)
    throw new Fault("NOT_FOUND", { subject: `the bucket profile of ${part.kind} ${part.index + 1}` });
  if (part.kind === "output" && sealingOf(profile) !== "off")
    throw new Fault("SEAL_REQUIRED", { op: "output of a job", subject: profile.name });
  const store = await hub.stores.open(profileId);
  return { place, store, isOwn: await ownKeysOf(hub.db, store.access.bucket) };
}

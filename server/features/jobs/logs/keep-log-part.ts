import type * as z from "zod";
import { jobSpec } from "#protocol/jobs/job-spec.ts";
import { logPartKey, type keepLogPartInput, type LogPartAt } from "#protocol/jobs/job-log.ts";
import type { JobLogPart } from "#prisma/client/client.ts";
import { deleteObject } from "#storage/s3/objects.ts";
import type { NodeCaller } from "#server/core/api/caller.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { liveNodeOf } from "#server/core/nodes/live-node-of.ts";
import { readStored } from "#server/platform/stored-json.ts";
import { findOwnAttempt } from "../bytes/lease-of.ts";

/** A part as it lies in the bucket. */
export type StoredPart = Pick<JobLogPart, "jobId" | "attempt" | "fromByte" | "bytes" | "profileId">;

/** Returns the place of a part. */
export const partAt = (run: string, { jobId, attempt, fromByte, bytes }: Omit<StoredPart, "profileId">): LogPartAt => ({
  run,
  jobId,
  attempt,
  fromByte: Number(fromByte),
  bytes,
});

/**
 * Returns the parts that a log keeps no longer: of the parts behind its first half the oldest, as long as the newest ones fill
 * the second half.
 */
export function partsBeyond<Part extends Pick<StoredPart, "fromByte" | "bytes">>(
  parts: readonly Part[],
  mostBytes: number,
): Part[] {
  const half = Math.floor(mostBytes / 2);
  const tail = parts.filter(({ fromByte }) => Number(fromByte) >= half);
  let bytes = tail.reduce((sum, part) => sum + part.bytes, 0);
  const beyond: Part[] = [];
  for (const part of tail) {
    if (bytes - part.bytes < half) break;
    bytes -= part.bytes;
    beyond.push(part);
  }
  // The newest part stays even where the policy is smaller than one.
  return mostBytes === 0 ? [...parts] : beyond.filter((part) => part !== parts.at(-1));
}

/**
 * Records a part of the output of an attempt, which the node has put into its bucket, and deletes the parts that it replaces or
 * that are more than the policy keeps. @throws Fault NODE_REVOKED, NOT_THIS_NODES
 */
export async function keepLogPart(
  { hub, caller }: Context & { caller: NodeCaller },
  input: z.infer<typeof keepLogPartInput>,
): Promise<{ ok: true }> {
  const { jobId, attempt, bytes, packedBytes, totalBytes } = input;
  const { profileId } = liveNodeOf(hub, caller.nodeId);
  const { job } = await findOwnAttempt(hub, caller, input);
  const mostBytes = readStored(job.spec, jobSpec)?.policy.logBytes ?? 0;
  const fromByte = BigInt(input.fromByte);
  const gone = await hub.db.$transaction(async (tx) => {
    const where = { jobId_attempt_fromByte: { jobId, attempt, fromByte } };
    const before = await tx.jobLogPart.findUnique({ where });
    // A delayed repetition of an earlier, shorter version.
    if (before !== null && before.bytes >= bytes) return [];
    const data = { bytes, packedBytes, profileId };
    await tx.jobLogPart.upsert({ where, update: data, create: { jobId, attempt, fromByte, ...data } });
    const at = { jobId, attempt };
    await tx.jobAttempt.updateMany({ where: { ...at, logBytes: { lt: totalBytes } }, data: { logBytes: totalBytes } });
    const parts = await tx.jobLogPart.findMany({ where: at, orderBy: { fromByte: "asc" } });
    const beyond = partsBeyond(parts, mostBytes);
    await tx.jobLogPart.deleteMany({ where: { ...at, fromByte: { in: beyond.map((part) => part.fromByte) } } });
    return [...(before === null ? [] : [before]), ...beyond];
  });
  for (const part of gone) await deletePart(hub, job.run, part);
  return { ok: true };
}

/** Deletes the object of a part. One that stays only takes space, below a folder that nothing else reads. */
async function deletePart({ stores, log }: Pick<Hub, "stores" | "log">, run: string, part: StoredPart): Promise<void> {
  try {
    const { client, access, prefix } = await stores.open(part.profileId);
    await deleteObject(client, { bucket: access.bucket, key: logPartKey(prefix, partAt(run, part)) });
  } catch (error) {
    log.warn({ error, jobId: part.jobId }, "a replaced part of a job's log could not be deleted");
  }
}

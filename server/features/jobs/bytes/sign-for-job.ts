import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import { whyPathRefused } from "#protocol/base/names.ts";
import type { JobPlacePart, signForJobInput } from "#protocol/jobs/job-bytes.ts";
import { logPartKey, MOST_PACKED_LOG_BYTES } from "#protocol/jobs/job-log.ts";
import { pathBelow } from "#protocol/jobs/job-places.ts";
import type { Operation, SignedRequest } from "#protocol/wire/operations.ts";
import type { NodeCaller } from "#server/core/api/caller.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { adoptedAround } from "#server/core/checkpoints/external/adopted-around.ts";
import type { LiveNode } from "#server/core/live/live-node.ts";
import { liveNodeOf } from "#server/core/nodes/live-node-of.ts";
import { sealingOfRun } from "#server/core/profiles/seal-keys.ts";
import { openJobBucket, type JobBucket } from "./job-bucket.ts";
import { findOwnAttempt, type LeasedAttempt } from "./lease-of.ts";
import { findOffered, type OfferedJob } from "./next-job.ts";

/**
 * Signs requests of a node for an attempt of a job that it was handed: parts of its log, reads of what its inputs name, and
 * writes below its outputs. An output never overwrites what Tidemark keeps, nor a checkpoint of another tool.
 */

type Input = z.infer<typeof signForJobInput>;

const refuse = (operation: Operation, detail: string): Fault =>
  new Fault("NOT_THIS_NODES", { op: `sign ${operation.op}`, subject: operation.key, detail });

const NO_PART = "it is no part of the log of this attempt";

/** Allows a PUT of each part of the attempt's log, and a HEAD. */
function allowLog(operation: Operation, { job, jobId, attempt }: LeasedAttempt, prefix: string): void {
  const place = { run: job.run, jobId, attempt };
  const [, from, bytes] = /\/(\d{15})-(\d{1,6})\.z$/.exec(operation.key) ?? [];
  const key = logPartKey(prefix, { ...place, fromByte: Number(from), bytes: Number(bytes) });
  if (operation.key !== key) throw refuse(operation, NO_PART);
  if (operation.op === "head") return;
  if (operation.op !== "put") throw refuse(operation, "a part of a log is written in one piece");
  if (operation.sizeBytes > MOST_PACKED_LOG_BYTES) throw refuse(operation, "a part of a log is not that large");
}

function allowRead(operation: Operation, { place, isOwn }: JobBucket): void {
  if (operation.op !== "get" && operation.op !== "head") throw refuse(operation, "an input is only read");
  if (pathBelow(place.prefix, operation.key) === null) throw refuse(operation, "it is not in this input of the job");
  if (isOwn(operation.key)) throw refuse(operation, "checkpoints are read by the run of a job, not as its input");
}

const WRITES: ReadonlySet<Operation["op"]> = new Set(["create", "part", "put", "parts", "complete", "abort", "head"]);

async function allowWrite(hub: Hub, operation: Operation, { place, store, isOwn }: JobBucket): Promise<void> {
  const { key } = operation;
  if (!WRITES.has(operation.op)) throw refuse(operation, "an output is only written");
  const path = key === place.prefix ? null : pathBelow(place.prefix, key);
  if (path === null || whyPathRefused(path) !== null) throw refuse(operation, "it is not in this output of the job");
  if (isOwn(key)) throw refuse(operation, "checkpoints are kept there");
  const [external] = await adoptedAround(hub, { profileId: store.profileId, key });
  if (external !== undefined) throw refuse(operation, "a checkpoint of another tool lies there");
}

/** Opens the bucket of an input or output, and checks the requests. */
async function openPlace(
  hub: Hub,
  { open, node }: { open: LeasedAttempt | OfferedJob; node: LiveNode },
  { part, operations }: { part: JobPlacePart; operations: readonly Operation[] },
): Promise<OpenStore> {
  const bucket = await openJobBucket(hub, open, { part, nodeProfileId: node.profileId });
  for (const operation of operations) {
    if (part.kind === "input") allowRead(operation, bucket);
    else await allowWrite(hub, operation, bucket);
  }
  return bucket.store;
}

async function openForLog(
  hub: Hub,
  { open, node }: { open: LeasedAttempt; node: LiveNode },
  operations: readonly Operation[],
): Promise<OpenStore> {
  const { run } = open.job;
  const sealing = await sealingOfRun(hub, { run, profileId: node.profileId });
  if (sealing !== "off") throw new Fault("SEAL_REQUIRED", { op: "sign for a job", subject: run });
  const store = await hub.stores.open(node.profileId);
  for (const operation of operations) allowLog(operation, open, store.prefix);
  return store;
}

/**
 * Signs requests of a node for an attempt of a job that it was handed. One refused operation refuses all. @throws Fault
 * NODE_REVOKED, NOT_THIS_NODES, SEAL_REQUIRED, HISTORY_UNREAD
 */
export async function signForJob(
  { hub, caller }: Context & { caller: NodeCaller },
  input: Input,
): Promise<{ requests: SignedRequest[] }> {
  const { part, operations } = input;
  const node = liveNodeOf(hub, caller.nodeId);
  const store = await openPart();
  const { profileId, profileName } = store;
  const action = part.kind === "input" ? "sign reads" : "sign writes";
  await hub.keyUses.note({ caller, profileId, profileName, action, times: operations.length });
  // A later attempt writes the same objects again.
  const requests = await store.signForNode(operations, { ifThere: part.kind === "output" ? "replace" : "keep" });
  hub.counters.signatures += requests.length;
  return { requests };

  async function openPart(): Promise<OpenStore> {
    if (part.kind === "log")
      return openForLog(hub, { open: await findOwnAttempt(hub, caller, input), node }, operations);
    const { attempt, jobId } = input;
    const open = await (attempt === null ? findOffered(hub, caller, jobId) : findOwnAttempt(hub, caller, input));
    return openPlace(hub, { open, node }, { part, operations });
  }
}

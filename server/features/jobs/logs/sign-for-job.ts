import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { signForJobInput } from "#protocol/jobs/job-bytes.ts";
import { logPartKey, MOST_PACKED_LOG_BYTES } from "#protocol/jobs/job-log.ts";
import type { Operation, SignedRequest } from "#protocol/wire/operations.ts";
import type { NodeCaller } from "#server/core/api/caller.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { liveNodeOf } from "#server/core/nodes/live-node-of.ts";
import { sealingOfRun } from "#server/core/profiles/seal-keys.ts";
import { findOwnAttempt, type LeasedAttempt } from "./lease-of.ts";

const refuse = (operation: Operation, detail: string): Fault =>
  new Fault("NOT_THIS_NODES", { op: `sign ${operation.op}`, subject: operation.key, detail });

/** Allows writing parts of the attempt's log, each once, and looking at them. */
function allowLog(operation: Operation, open: LeasedAttempt, prefix: string): void {
  const { job, jobId, attempt } = open;
  const place = { run: job.run, jobId, attempt };
  const [, from, bytes] = /\/(\d{15})-(\d{1,6})\.z$/.exec(operation.key) ?? [];
  const isPart = operation.key === logPartKey(prefix, { ...place, fromByte: Number(from), bytes: Number(bytes) });
  if (!isPart) throw refuse(operation, "it is no part of the log of this attempt");
  if (operation.op === "head") return;
  if (operation.op !== "put") throw refuse(operation, "a part of a log is written in one piece");
  if (operation.sizeBytes > MOST_PACKED_LOG_BYTES) throw refuse(operation, "a part of a log is not that large");
}

/**
 * Signs requests of a node for an attempt of a job that it was handed. One refused operation refuses all. @throws Fault
 * NODE_REVOKED, NOT_THIS_NODES
 */
export async function signForJob(
  { hub, caller }: Context & { caller: NodeCaller },
  input: z.infer<typeof signForJobInput>,
): Promise<{ requests: SignedRequest[] }> {
  const node = liveNodeOf(hub, caller.nodeId);
  const open = await findOwnAttempt(hub, caller, input);
  const store = await hub.stores.open(node.profileId);
  const sealing = await sealingOfRun(hub, { run: open.job.run, profileId: node.profileId });
  if (sealing !== "off") throw new Fault("SEAL_REQUIRED", { op: "sign for a job", subject: open.job.run });
  for (const operation of input.operations) allowLog(operation, open, store.prefix);
  const { profileId, profileName } = store;
  const times = input.operations.length;
  await hub.keyUses.note({ caller, profileId, profileName, action: "sign writes", times });
  const requests = await store.signForNode(input.operations);
  hub.counters.signatures += requests.length;
  return { requests };
}

import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { handOverInput } from "#protocol/wire/requests.ts";
import { audit } from "../api/audit.ts";
import { emit } from "../events/record-event.ts";
import { liveNodeOf } from "../nodes/live-node-of.ts";
import type { Context } from "../api/trpc.ts";

/**
 * Lets a node take over a run with its next claim, regardless of the current writer and of the node's other rights. The
 * current writer then stops saving the run. Valid for one claim within a day. @throws Fault NOT_FOUND, NODE_UNKNOWN,
 * NODE_REVOKED
 */
export async function handOver(
  context: Context,
  { run, nodeId }: z.infer<typeof handOverInput>,
): Promise<{ ok: true }> {
  const { hub } = context;
  const node = liveNodeOf(hub, nodeId);
  const { count } = await hub.db.run.updateMany({
    where: { name: run },
    data: { handedToId: node.id, handedAt: new Date(hub.now()) },
  });
  if (count === 0) throw new Fault("NOT_FOUND", { subject: run });
  await audit(hub, context.caller, { action: "hand run over", subject: `${run} to ${node.name}`, subjectId: node.id });
  emit(hub, null, ["runs"]);
  return { ok: true };
}

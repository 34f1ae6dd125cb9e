import type * as z from "zod";
import type { ProbeTarget, probeTargetInput } from "#protocol/links/probe.ts";
import { nodeStoreOf } from "#server/core/nodes/hello.ts";
import { liveNodeOf } from "#server/core/nodes/live-node-of.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { thresholdsForNodes } from "./link-policy.ts";
import { machineMemory, machineOf } from "./machine-memory.ts";
import type { NodeCaller } from "#server/core/api/caller.ts";

/** Returns where a node measures its link, and what is known of its machine. @throws Fault NODE_UNKNOWN, NODE_REVOKED */
export async function probeTarget(
  { hub, caller }: Context & { caller: NodeCaller },
  { machineId }: z.infer<typeof probeTargetInput>,
): Promise<ProbeTarget> {
  const { id: nodeId, profileId } = liveNodeOf(hub, caller.nodeId);
  return {
    nodeId,
    store: await nodeStoreOf(hub, profileId),
    machine: await machineMemory(hub, { machine: machineOf(nodeId, machineId), profileId }),
    hubTimeMs: hub.now(),
    thresholds: await thresholdsForNodes(hub),
  };
}

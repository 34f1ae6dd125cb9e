import type { LiveNode } from "../live/live-node.ts";
import type { Context } from "../api/trpc.ts";
import { hearFrom } from "./hear-from.ts";
import { liveNodeOf } from "./live-node-of.ts";
import type { NodeCaller } from "../api/caller.ts";

/** Returns the calling node and counts the call as a sign of life. @throws Fault NODE_UNKNOWN, NODE_REVOKED */
export async function hearCaller({ hub, caller }: Pick<Context, "hub"> & { caller: NodeCaller }): Promise<LiveNode> {
  const node = liveNodeOf(hub, caller.nodeId);
  await hearFrom(hub, node);
  return node;
}

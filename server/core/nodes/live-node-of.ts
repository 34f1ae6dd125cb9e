import { Fault } from "#protocol/faults/fault.ts";
import type { Hub } from "../api/hub.ts";
import type { LiveNode } from "../live/live-node.ts";

/** Returns a node that is not revoked. @throws Fault NODE_UNKNOWN, NODE_REVOKED */
export function liveNodeOf(hub: Pick<Hub, "live">, nodeId: string): LiveNode {
  const node = hub.live.nodes.get(nodeId);
  if (node === undefined) throw new Fault("NODE_UNKNOWN");
  if (node.revokedAt !== null) throw new Fault("NODE_REVOKED");
  return node;
}

import type { Context } from "../api/trpc.ts";
import { endWait } from "../live/job-memory.ts";
import { liveNodeOf } from "./live-node-of.ts";
import type { NodeCaller } from "../api/caller.ts";

/** Notes that a worker stops on purpose: its node becomes offline rather than silent. */
export async function goodbye({ hub, caller }: Context & { caller: NodeCaller }): Promise<{ ok: true }> {
  const node = liveNodeOf(hub, caller.nodeId);
  const now = hub.now();
  endWait(hub.jobs, node.id);
  await hub.db.node.updateMany({
    where: { id: node.id },
    data: {
      leftAt: new Date(now),
      lastSeenAt: new Date(now),
      lastReport: node.report === null ? null : JSON.stringify({ ...node.report, transfers: [] }),
    },
  });
  node.leftAt = now;
  node.lastSeenAt = now;
  node.presence = "heard";
  hub.live.stopClocks(new Set([node.id]));
  hub.live.touchNode(node);
  hub.live.markStale(["runs"]);
  return { ok: true };
}

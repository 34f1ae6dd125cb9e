import type * as z from "zod";
import type { setNodeRunsInput } from "#protocol/wire/requests.ts";
import { audit } from "../api/audit.ts";
import type { Context } from "../api/trpc.ts";
import { liveNodeOf } from "./live-node-of.ts";

/**
 * Sets which runs a node may write: patterns, or null for those it named at enrollment, its own, and new ones. A run that it
 * writes now stays writable for it. @throws Fault NODE_UNKNOWN, NODE_REVOKED
 */
export async function setNodeRuns(
  context: Context,
  { id, runs }: z.infer<typeof setNodeRunsInput>,
): Promise<{ ok: true }> {
  const { hub } = context;
  const node = liveNodeOf(hub, id);
  await hub.db.node.update({ where: { id }, data: { runs } });
  const subject = `${node.name}: ${runs ?? "the runs it named, and new ones"}`;
  await audit(hub, context.caller, { action: "set runs of node", subject, subjectId: id });
  node.mayWrite = runs;
  hub.live.touchNode(node);
  return { ok: true };
}

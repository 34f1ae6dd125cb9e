import type { StoredManifest } from "#protocol/adopted.ts";
import { Fault } from "#protocol/fault.ts";
import { liveNodeOf } from "../nodes/live-node-of.ts";
import { hashOf } from "../random-id.ts";
import type { Context, NodeCaller } from "../trpc.ts";
import { mayRead } from "./assigned.ts";
import { readStored } from "./stored-manifest.ts";

/**
 * The manifest of a checkpoint a node may restore, as it was committed. The hub's own record is the authority, not what
 * lies in the bucket now.
 * @throws Fault NOT_THIS_NODES, CHECKPOINT_INCOMPLETE, CHECKSUM_MISMATCH
 */
export async function readCheckpoint(
  { hub, caller }: Context & { caller: NodeCaller },
  input: { checkpointId: string },
): Promise<{ manifest: StoredManifest; sha256: string }> {
  const node = liveNodeOf(hub, caller.nodeId);
  const where = { id: input.checkpointId };
  const found = await hub.db.checkpoint.findUnique({ where, include: { content: true, adoption: true } });
  if (found === null || found.profileId !== node.profileId || !(await mayRead(hub.db, node, found))) {
    throw new Fault("NOT_THIS_NODES", { op: "readCheckpoint", subject: input.checkpointId });
  }
  const text = found.content?.manifest ?? null;
  if (found.state !== "complete" || text === null || found.manifestSha256 === null) {
    throw new Fault("CHECKPOINT_INCOMPLETE", { op: "readCheckpoint", subject: input.checkpointId });
  }
  if (hashOf(text) !== found.manifestSha256) {
    throw new Fault("CHECKSUM_MISMATCH", { op: "readCheckpoint", subject: input.checkpointId });
  }
  return { manifest: readStored(text, found.adoption?.sums ?? null), sha256: found.manifestSha256 };
}

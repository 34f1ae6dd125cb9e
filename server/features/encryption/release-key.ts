import { stepText } from "#protocol/checkpoint/step-words.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { ReleasedKey } from "#protocol/checkpoint/sealing.ts";
import { isSealed } from "#storage/encryption/open-manifest.ts";
import type { Database } from "#prisma/open.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { hasOpenCommand } from "#server/core/runs/assigned.ts";
import { isWriter } from "#server/core/runs/is-writer.ts";
import { newestComplete } from "#server/core/runs/newest.ts";
import { parseStored } from "#server/core/checkpoints/manifest/stored-manifest.ts";
import { audit } from "#server/core/api/audit.ts";
import { profilesFor } from "#server/core/profiles/homes-of.ts";
import { liveNodeOf } from "#server/core/nodes/live-node-of.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { keyOfCheckpoint } from "#server/core/checkpoints/key-of-checkpoint.ts";
import type { NodeCaller } from "#server/core/api/caller.ts";

/**
 * Keys leave the hub only for restores that it assigned, and for the writer of a run. Reading the bytes is not enough: the
 * writer may read all manifests of its run, but gets only the key of the newest checkpoint, from which it has to go on. So an
 * attacker who takes over a node cannot decrypt older checkpoints. Verification needs no key, because it compares stored bytes.
 */
const UNLOCKING = ["restore", "drill"];

async function mayUnlock(
  db: Pick<Database, "command" | "transfer" | "epoch" | "epochMember" | "checkpoint">,
  nodeId: string,
  checkpoint: Checkpoint,
): Promise<boolean> {
  if (await hasOpenCommand(db, { nodeId, checkpointId: checkpoint.id, kinds: UNLOCKING })) return true;
  if ((await isWriter(db, checkpoint.run, nodeId)) !== true) return false;
  return (await newestComplete(db, checkpoint.run))?.id === checkpoint.id;
}

/**
 * Returns the key of a checkpoint that a node restores; the release is audited first.
 * @throws Fault SEAL_KEY_REFUSED (nobody asked this node to), CHECKPOINT_INCOMPLETE, SEAL_KEY_MISSING, SEAL_BROKEN, BAD_INPUT
 * when it is not encrypted
 */
export async function releaseKey(
  { hub, caller }: Context & { caller: NodeCaller },
  { checkpointId }: { checkpointId: string },
): Promise<ReleasedKey> {
  const node = liveNodeOf(hub, caller.nodeId);
  const found = await hub.db.checkpoint.findUnique({ where: { id: checkpointId }, include: { content: true } });
  const mayTake = found !== null && (await profilesFor(hub.db, found)).has(node.profileId);
  if (found === null || !mayTake || !(await mayUnlock(hub.db, node.id, found))) {
    throw new Fault("SEAL_KEY_REFUSED", { op: "release key", subject: checkpointId });
  }
  if (found.state !== "complete" || found.content?.manifest == null) {
    throw new Fault("CHECKPOINT_INCOMPLETE", { op: "release key", subject: checkpointId });
  }
  const read = await parseStored(found.content.manifest);
  if (!isSealed(read)) throw new Fault("BAD_INPUT", { op: "release key", detail: "it is not encrypted" });
  const key = await keyOfCheckpoint(hub, read);
  const subject = `${stepText(found.step)} of ${found.run}`;
  await audit(hub, caller, { action: "release key", subject, subjectId: checkpointId });
  return { key: key.toString("base64url") };
}

import { isExpected } from "#protocol/fleet/node-status.ts";
import type * as z from "zod";
import type { BeginCopyAnswer, beginCopyInput } from "#protocol/wire/homes.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { isAdoptedRow } from "#server/core/runs/is-adopted.ts";
import { mayRead } from "#server/core/runs/assigned.ts";
import { emit } from "#server/core/events/record-event.ts";
import { stateOf } from "#server/core/live/live-node.ts";
import { hearCaller } from "#server/core/nodes/hear-caller.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { sealingOf } from "#server/core/profiles/seal-keys.ts";
import { homesOf } from "#server/core/profiles/homes-of.ts";
import type { NodeCaller } from "#server/core/api/caller.ts";

/**
 * Registers that a node is about to copy a complete checkpoint to another bucket of its run. From then on its requests for that
 * attempt in that bucket are signed, and no others there. A repeated request changes nothing. Unfinished copies of the same run
 * by this node to that bucket are given up, because the newest checkpoint matters most.
 * @throws Fault NOT_THIS_NODES, CONFLICT
 */
export async function beginCopy(
  { hub, caller }: Context & { caller: NodeCaller },
  input: z.infer<typeof beginCopyInput>,
): Promise<BeginCopyAnswer> {
  const { checkpointId, profileId, attempt } = input;
  const node = await hearCaller({ hub, caller });
  const { access, prefix } = await hub.stores.open(profileId);
  const now = new Date(hub.now());
  // An encrypted checkpoint is copied as it is; an unencrypted one does not go into a bucket that demands encryption.
  const target = await hub.db.profile.findUniqueOrThrow({ where: { id: profileId } });
  const needsSeal = sealingOf(target) !== "off";
  const isWanted = await hub.db.$transaction(async (tx) => {
    const checkpoint = await tx.checkpoint.findUnique({ where: { id: checkpointId } });
    if (checkpoint === null || checkpoint.state !== "complete" || isAdoptedRow(checkpoint)) return false;
    // Pieces of several nodes, and checkpoints joined from them, stay where they were written.
    if (checkpoint.piece !== null) return false;
    if (checkpoint.nodeId !== node.id && !(await mayRead(tx, node, checkpoint))) {
      throw new Fault("NOT_THIS_NODES", { op: "beginCopy", subject: checkpointId });
    }
    const { run, writerEpoch } = checkpoint;
    const homes = (await homesOf(tx, run))?.profileIds ?? [];
    if (!homes.includes(profileId) || checkpoint.profileId === profileId) return false;
    if (needsSeal && checkpoint.sealKeyId === null) return false;
    const where = { checkpointId_profileId: { checkpointId, profileId } };
    const known = await tx.checkpointCopy.findUnique({ where, omit: { manifest: true } });
    if (known?.state === "complete") return false;
    if (known?.state === "copying" && known.attempt === attempt) return known.nodeId === node.id;
    // Another online node is copying it already, and one copy is enough.
    const other = known?.state === "copying" && known.nodeId !== node.id ? hub.live.nodes.get(known.nodeId) : undefined;
    if (other !== undefined && isExpected(stateOf(other))) return false;
    if ((await tx.attempt.findUnique({ where: { run_attempt: { run, attempt } } })) !== null) {
      throw new Fault("CONFLICT", { op: "beginCopy", detail: "an attempt is never used twice" });
    }
    await tx.attempt.create({ data: { run, attempt, writerEpoch, nodeId: node.id, announcedAt: now } });
    const older = { run, profileId, nodeId: node.id, state: "copying", checkpointId: { not: checkpointId } };
    await tx.checkpointCopy.updateMany({ where: older, data: { state: "torn" } });
    const place = { run, bucket: access.bucket, prefix, attempt, nodeId: node.id };
    const data = { ...place, state: "copying", startedAt: now };
    await tx.checkpointCopy.upsert({ where, update: data, create: { checkpointId, profileId, ...data } });
    return true;
  });
  if (isWanted) emit(hub, null, ["checkpoints", "runs"]);
  return { isWanted };
}

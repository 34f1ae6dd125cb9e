import type * as z from "zod";
import { extentSums, isAdopted, type ExtentSums, type tellSumsInput } from "#protocol/checkpoint/adopted.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { mayRead } from "#server/core/runs/assigned.ts";
import { parseStored } from "#server/core/checkpoints/manifest/stored-manifest.ts";
import { audit } from "#server/core/api/audit.ts";
import { emit } from "#server/core/events/record-event.ts";
import { liveNodeOf } from "#server/core/nodes/live-node-of.ts";
import type { Context } from "#server/core/api/trpc.ts";
import type { NodeCaller } from "#server/core/api/caller.ts";

/**
 * Records the checksums that a node read when it restored an external checkpoint. The first report about a file counts, and
 * later restores must match it. A lying node can only make later restores fail, never pass; people can forget the checksums
 * again.
 * @throws Fault NOT_THIS_NODES, BAD_INPUT
 */
export async function tellSums(
  { hub, caller }: Context & { caller: NodeCaller },
  { checkpointId, sums }: z.infer<typeof tellSumsInput>,
): Promise<{ ok: true }> {
  const node = liveNodeOf(hub, caller.nodeId);
  const refuse = () => new Fault("NOT_THIS_NODES", { op: "tellSums", subject: checkpointId });
  return hub.locks.run(`sums ${checkpointId}`, async () => {
    const found = await hub.db.checkpoint.findUnique({
      where: { id: checkpointId },
      include: { content: true, adoption: true },
    });
    if (found === null || found.adoption === null || found.profileId !== node.profileId) throw refuse();
    if (!(await mayRead(hub.db, node, found))) throw refuse();
    const read = await parseStored(found.content?.manifest ?? "null");
    if (!isAdopted(read)) throw refuse();
    const fits = (own: readonly string[] | null, index: number) =>
      own === null || own.length === read.files[index]?.extents.length;
    if (sums.length !== read.files.length || !sums.every(fits))
      throw new Fault("BAD_INPUT", { op: "tellSums", subject: checkpointId, detail: "they do not fit its files" });
    const known = found.adoption.sums === null ? [] : extentSums.parse(JSON.parse(found.adoption.sums));
    const merged: ExtentSums = sums.map((own, index) => known[index] ?? own);
    await hub.db.adoption.update({
      where: { checkpointId },
      data: { sums: JSON.stringify(merged), summedAt: new Date(hub.now()), summedBy: node.name },
    });
    emit(hub, null, ["checkpoints"]);
    return { ok: true };
  });
}

/** Forgets the recorded checksums. @throws Fault NOT_FOUND when the checkpoint is not an external one */
export async function forgetSums(context: Context, input: { id: string }): Promise<{ ok: true }> {
  const { hub } = context;
  const where = { checkpointId: input.id };
  const found = await hub.db.adoption.findUnique({ where });
  if (found === null) throw new Fault("NOT_FOUND", { subject: "this adopted checkpoint" });
  await hub.db.adoption.update({ where, data: { sums: null, summedAt: null, summedBy: null } });
  await audit(hub, context.caller, { action: "forget checksums", subject: found.place, subjectId: input.id });
  emit(hub, null, ["checkpoints"]);
  return { ok: true };
}

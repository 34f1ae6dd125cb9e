import { stepText } from "#protocol/checkpoint/step-words.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { deleteObject } from "#storage/s3/objects.ts";
import { newestComplete } from "#server/core/runs/newest.ts";
import { audit } from "#server/core/api/audit.ts";
import { emit } from "#server/core/events/record-event.ts";
import { findRead } from "#server/core/retention/find-read.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { requireMayDelete } from "#server/core/retention/may-delete.ts";

/**
 * Forgets an external checkpoint: deletes its row and its manifest, which the hub wrote. The objects belong to somebody else
 * and stay. Refused while a node restores it, and while its run would go on from it.
 * @throws Fault NOT_FOUND, CONFLICT, IN_USE, DELETIONS_OFF, those of the store
 */
export async function release(context: Context, input: { id: string }): Promise<{ ok: true }> {
  const { hub } = context;
  const row = await hub.db.checkpoint.findUnique({ where: { id: input.id }, include: { adoption: true } });
  if (row === null) throw new Fault("NOT_FOUND", { subject: "this checkpoint" });
  const subject = `${stepText(row.step)} of ${row.run}`;
  if (row.adoption === null) throw new Fault("CONFLICT", { subject, detail: "Tidemark wrote it; it was not adopted" });
  const { place } = row.adoption;
  await requireMayDelete(hub);
  if ((await findRead(hub.db, row.run)).has(row.id))
    throw new Fault("IN_USE", { subject, detail: "a node restores it" });
  const epochs = await hub.db.epoch.count({ where: { run: row.run } });
  if (epochs > 0 && (await newestComplete(hub.db, row.run))?.id === row.id)
    throw new Fault("IN_USE", { subject, detail: "the run would go on from it" });
  const store = await hub.stores.open(row.profileId);
  await hub.db.$transaction(async (tx) => {
    await tx.checkpoint.delete({ where: { id: row.id } });
    const left = await tx.checkpoint.count({ where: { run: row.run } });
    if (left === 0 && epochs === 0) await tx.run.delete({ where: { name: row.run } });
  });
  if (row.manifestKey !== null) await deleteObject(store.client, { bucket: row.bucket, key: row.manifestKey });
  hub.live.totals = { ...hub.live.totals, checkpointsComplete: hub.live.totals.checkpointsComplete - 1 };
  await audit(hub, context.caller, {
    action: "release checkpoint",
    subject: `${subject} (${place})`,
    subjectId: row.id,
  });
  emit(hub, null, ["runs", "checkpoints", "profiles"]);
  return { ok: true };
}

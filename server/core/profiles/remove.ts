import { Fault } from "#protocol/faults/fault.ts";
import { audit } from "../api/audit.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import type { Context } from "../api/trpc.ts";
import { leavePlace } from "./keep-marks.ts";

/** Removes a profile that nothing uses, and the mark of this hub in its bucket. @throws Fault NOT_FOUND, IN_USE */
export async function removeProfile(context: Context, input: { id: string }): Promise<{ ok: true }> {
  const { hub } = context;
  const { id } = input;
  // Its key is gone with the row.
  const store = await hub.stores.open(id).catch(() => null);
  const { event, name } = await hub.db.$transaction(async (tx) => {
    const row = await tx.profile.findUnique({ where: { id } });
    if (row === null) throw new Fault("NOT_FOUND", { subject: "this bucket profile" });
    const [nodes, runs] = [
      await tx.node.count({ where: { profileId: id } }),
      await tx.run.count({ where: { OR: [{ profileId: id }, { homes: { some: { profileId: id } } }] } }),
    ];
    const copies =
      (await tx.checkpointCopy.count({ where: { profileId: id } })) +
      (await tx.checkpoint.count({ where: { profileId: id } }));
    if (copies > 0 && nodes + runs === 0) {
      throw new Fault("IN_USE", { subject: row.name, detail: `copies of ${copies} checkpoints lie there` });
    }
    if (nodes + runs > 0) throw new Fault("IN_USE", { subject: row.name, detail: `${nodes} nodes and ${runs} runs` });
    const kept = await tx.sealKey.count({ where: { profileId: id, exportedAt: null } });
    if (kept > 0) {
      const detail = "its encryption key was never exported, and would be gone for good; export it first";
      throw new Fault("IN_USE", { subject: row.name, detail });
    }
    const keys = (await tx.sealKey.findMany({ where: { profileId: id }, select: { id: true } })).map((key) => key.id);
    const opened = await tx.checkpoint.count({ where: { sealKeyId: { in: keys } } });
    if (opened > 0) {
      const detail = `${opened} checkpoints in other buckets open with its encryption key`;
      throw new Fault("IN_USE", { subject: row.name, detail });
    }
    await tx.sealKey.deleteMany({ where: { profileId: id } });
    await tx.profile.delete({ where: { id } });
    const text = `The bucket profile ${row.name} was removed`;
    const event = await recordEvent(tx, { at: hub.now(), kind: "profile-changed", work: "safe", text });
    return { event, name: row.name };
  });
  if (store !== null) await leavePlace(hub, store);
  hub.stores.forget(id);
  await audit(hub, context.caller, { action: "remove profile", subject: name, subjectId: id });
  emit(hub, event, ["profiles", "tokens"]);
  return { ok: true };
}

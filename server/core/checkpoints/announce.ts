import { MOST_BYTES } from "#protocol/base/bounded.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { AnnounceAnswer } from "#protocol/wire/hello.ts";
import type { CaptureAnnouncement } from "#protocol/wire/reports.ts";
import { emit } from "../events/record-event.ts";
import { hearCaller } from "../nodes/hear-caller.ts";
import type { Context } from "../api/trpc.ts";
import { requireSealed } from "./check-sealed.ts";
import { earlierLine } from "./earlier-line.ts";
import { requireHome } from "../profiles/homes-of.ts";
import { requireSender } from "../runs/require-writer.ts";
import type { NodeCaller } from "../api/caller.ts";

/**
 * Announces that a capture is about to be uploaded under a new attempt: from now on the hub signs for that attempt only.
 * Repeating an announcement changes nothing. A new attempt at the same checkpoint replaces the one before, which is no longer
 * signed for. @throws Fault SEAL_REQUIRED, EPOCH_OVER, NOT_THIS_NODES, CONFLICT, BAD_INPUT
 */
export async function announce(
  { hub, caller }: Context & { caller: NodeCaller },
  input: CaptureAnnouncement,
): Promise<AnnounceAnswer> {
  const node = await hearCaller({ hub, caller });
  const sealKeyId = input.sealKeyId ?? null;
  const profileId = input.profileId ?? node.profileId;
  await requireSealed(hub, { run: input.run, profileId, sealKeyId });
  const { access, prefix } = await hub.stores.open(profileId);
  const now = new Date(hub.now());
  const sizeBytes = input.files.reduce((sum, file) => sum + file.sizeBytes, 0);
  if (sizeBytes > MOST_BYTES) throw new Fault("BAD_INPUT", { op: "announce", detail: "no store holds as many bytes" });
  const earlier = await hub.db.$transaction(async (tx) => {
    const claim = { run: input.run, epoch: input.writerEpoch, nodeId: node.id };
    await requireSender(tx, claim);
    const line = await earlierLine(tx, { ...claim, step: input.step });
    await requireHome(tx, { run: input.run, profileId, op: "announce" });
    const known = await tx.checkpoint.findUnique({ where: { id: input.checkpointId } });
    if (known !== null) {
      if (known.nodeId !== node.id || known.run !== input.run || Number(known.step) !== input.step) {
        throw new Fault("NOT_THIS_NODES", { op: "announce", subject: input.checkpointId });
      }
      if (known.attempt === input.attempt && known.writerEpoch === input.writerEpoch) {
        const again = { id: known.id, state: "torn" };
        await tx.checkpoint.updateMany({ where: again, data: { state: "uploading" } });
        return line;
      }
      if (known.state === "complete" || known.state === "trashed" || known.state === "joined")
        throw new Fault("CONFLICT", { op: "announce", detail: "it is complete already" });
    }
    const attempt = { run: input.run, attempt: input.attempt };
    if ((await tx.attempt.findUnique({ where: { run_attempt: attempt } })) !== null) {
      throw new Fault("CONFLICT", { op: "announce", detail: "an attempt is never used twice" });
    }
    await tx.attempt.create({
      data: { ...attempt, writerEpoch: input.writerEpoch, nodeId: node.id, announcedAt: now },
    });
    const data = {
      run: input.run,
      step: BigInt(input.step),
      writerEpoch: input.writerEpoch,
      attempt: input.attempt,
      nodeId: node.id,
      profileId,
      bucket: access.bucket,
      prefix,
      state: "uploading",
      framework: input.framework,
      role: input.role ?? null,
      metrics: "{}",
      fileCount: input.files.length,
      sizeBytes: BigInt(sizeBytes),
      capturedAt: new Date(input.capturedAt),
      announcedAt: now,
      sealKeyId,
    };
    const where = { id: input.checkpointId };
    await tx.checkpoint.upsert({ where, update: data, create: { ...where, ...data } });
    const content = { files: JSON.stringify(input.files), manifest: null };
    const checkpointId = input.checkpointId;
    await tx.checkpointContent.upsert({
      where: { checkpointId },
      update: content,
      create: { checkpointId, ...content },
    });
    return line;
  });
  emit(hub, null, ["checkpoints", "runs"]);
  const role = input.role !== undefined && { role: input.role };
  return { ok: true, ...role, ...(earlier !== null && { earlier }) };
}

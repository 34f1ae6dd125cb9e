import { stepText } from "#protocol/checkpoint/step-words.ts";
import type { CheckpointState } from "#protocol/checkpoint/checkpoint.ts";
import type { Command } from "#protocol/wire/commands.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { runName } from "#protocol/base/names.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { countUp } from "#server/platform/counters.ts";
import { profilesFor } from "#server/core/profiles/homes-of.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { LiveNode } from "#server/core/live/live-node.ts";
import { newId } from "#server/platform/random-id.ts";
import { placeOf } from "#server/core/transfers/place-of.ts";
import { transferRowOf } from "#server/core/live/transfer-row.ts";

interface Wanted {
  requestId: string;
  kind: "verify" | "drill" | "copy";
  checkpoint: Checkpoint;
  node: LiveNode;
  /** The bucket of the copy to verify, if it is not the first one; for `copy`, the target bucket. */
  profileId?: string;
  /** The command expires if the node has not received it within this time. */
  validMs: number;
  /** The person who asked; null: the hub's own schedule. */
  actor: string | null;
}

/**
 * Asks a node to verify, rehearse restoring, or copy a checkpoint. Creates the transfer and the command, once per
 * `requestId`. @throws Fault CHECKPOINT_INCOMPLETE, CONFLICT, NODE_REVOKED
 */
export async function askCheck(hub: Hub, wanted: Wanted): Promise<{ transferId: string; isNew: boolean }> {
  const { requestId, kind, checkpoint, node, validMs, actor, profileId } = wanted;
  const copy = profileId === undefined ? {} : { profileId };
  const what = `${stepText(checkpoint.step)} of ${checkpoint.run}`;
  if ((checkpoint.state as CheckpointState) !== "complete") {
    throw new Fault("CHECKPOINT_INCOMPLETE", { subject: what });
  }
  if (node.revokedAt !== null) throw new Fault("NODE_REVOKED", { subject: node.name });
  if (!(await profilesFor(hub.db, checkpoint)).has(node.profileId)) {
    throw new Fault("CONFLICT", { subject: node.name, detail: "it was enrolled for another bucket profile" });
  }
  const now = hub.now();
  const run = runName.parse(checkpoint.run);
  const about = { transferId: newId(), checkpointId: checkpoint.id, run, step: Number(checkpoint.step) };
  const envelope = { id: newId(), expiresAt: now + validMs, ...about };
  const order: Command =
    kind === "copy" ? { kind, ...envelope, profileId: profileId ?? "" } : { kind, ...envelope, ...copy };
  const place = kind === "copy" ? await hub.stores.open(profileId ?? "") : null;
  const lies = place === null ? checkpoint : { bucket: place.access.bucket, prefix: place.prefix };
  const made = await hub.db.$transaction(async (tx) => {
    const twin = await tx.command.findUnique({ where: { requestId } });
    if (twin !== null) return { transferId: twin.transferId, row: null };
    const row = await tx.transfer.create({
      data: {
        id: about.transferId,
        nodeId: node.id,
        direction: kind,
        state: "waiting",
        checkpointId: checkpoint.id,
        run,
        step: checkpoint.step,
        bucket: lies.bucket,
        place: placeOf(lies, { direction: kind, run }),
        bytesDone: 0n,
        bytesTotal: checkpoint.sizeBytes,
        sentBytes: 0n,
        filesDone: 0,
        filesTotal: checkpoint.fileCount,
        connections: 0,
        retries: 0,
        startedBy: actor === null ? "queue" : "operator",
        createdAt: new Date(now),
      },
    });
    await tx.command.create({
      data: {
        id: order.id,
        requestId,
        nodeId: node.id,
        kind,
        transferId: about.transferId,
        checkpointId: checkpoint.id,
        run,
        actor,
        body: JSON.stringify(order),
        state: "sent",
        createdAt: new Date(now),
        expiresAt: new Date(now + validMs),
      },
    });
    return { transferId: about.transferId, row };
  });
  if (made.row === null) return { transferId: made.transferId, isNew: false };
  countUp(hub.counters.commands, "sent");
  hub.live.putTransfer(transferRowOf(made.row, node.name), { toWrite: "now" });
  hub.live.send(node.id, { type: "command", command: order });
  hub.live.markStale(["transfers", "checkpoints"]);
  return { transferId: made.transferId, isNew: true };
}

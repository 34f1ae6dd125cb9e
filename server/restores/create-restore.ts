import type * as z from "zod";
import type { Command } from "#protocol/commands.ts";
import { Fault } from "#protocol/fault.ts";
import { runName } from "#protocol/names.ts";
import type { createRestoreInput } from "#protocol/requests.ts";
import { formatBytes } from "#protocol/units.ts";
import { audit } from "../events/audit.ts";
import { countUp } from "../counters.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import { stateOf } from "../live/live-node.ts";
import { newId } from "../random-id.ts";
import { transferRowOf } from "../transfers/transfer-row.ts";
import type { Context } from "../trpc.ts";
import { neededBytes } from "./plan.ts";

/**
 * Asks a node to restore a complete checkpoint. The transfer exists from this moment, so that the screen can follow it;
 * the node learns of it at once, or when it comes back. The same request again is the same restore.
 * @throws Fault NOT_FOUND, CHECKPOINT_INCOMPLETE, NODE_REVOKED, CONFLICT, NO_SPACE
 */
export async function createRestore(
  context: Context,
  input: z.infer<typeof createRestoreInput>,
): Promise<{ transferId: string }> {
  const { hub } = context;
  const known = await hub.db.command.findUnique({ where: { requestId: input.requestId } });
  if (known !== null) return { transferId: known.transferId };
  const checkpoint = await hub.db.checkpoint.findUnique({ where: { id: input.checkpointId } });
  if (checkpoint === null) throw new Fault("NOT_FOUND", { subject: "this checkpoint" });
  const what = `step ${checkpoint.step} of ${checkpoint.run}`;
  if (checkpoint.state !== "complete") throw new Fault("CHECKPOINT_INCOMPLETE", { subject: what });
  const node = hub.live.nodes.get(input.nodeId);
  if (node === undefined) throw new Fault("NOT_FOUND", { subject: "this node" });
  if (node.revokedAt !== null) throw new Fault("NODE_REVOKED", { subject: node.name });
  if (node.profileId !== checkpoint.profileId) {
    throw new Fault("CONFLICT", { subject: node.name, detail: "it was enrolled for another bucket profile" });
  }
  const sizeBytes = Number(checkpoint.sizeBytes);
  const free = stateOf(node) === "online" ? (node.report?.disk?.freeBytes ?? null) : null;
  if (free !== null && free < neededBytes(sizeBytes)) {
    const detail = `${formatBytes(free)} free, ${formatBytes(neededBytes(sizeBytes))} needed`;
    throw new Fault("NO_SPACE", { subject: node.name, detail });
  }
  const now = hub.now();
  const transferId = newId();
  const order: Command = {
    kind: "restore",
    id: newId(),
    transferId,
    checkpointId: checkpoint.id,
    run: runName.parse(checkpoint.run),
    step: Number(checkpoint.step),
    targetPath: input.targetPath,
  };
  const {
    row,
    event,
    transferId: made,
  } = await hub.db.$transaction(async (tx) => {
    const twin = await tx.command.findUnique({ where: { requestId: input.requestId } });
    if (twin !== null) return { row: null, event: null, transferId: twin.transferId };
    const { revokedAt } = await tx.node.findUniqueOrThrow({ where: { id: node.id } });
    if (revokedAt !== null) throw new Fault("NODE_REVOKED", { subject: node.name });
    const row = await tx.transfer.create({
      data: {
        id: transferId,
        nodeId: node.id,
        direction: "download",
        state: "waiting",
        checkpointId: checkpoint.id,
        run: checkpoint.run,
        step: checkpoint.step,
        bucket: checkpoint.bucket,
        place: input.targetPath,
        bytesDone: 0n,
        bytesTotal: checkpoint.sizeBytes,
        sentBytes: 0n,
        filesDone: 0,
        filesTotal: checkpoint.fileCount,
        connections: 0,
        retries: 0,
        fault: null,
        startedBy: "operator",
        createdAt: new Date(now),
        startedAt: null,
        endedAt: null,
      },
    });
    await tx.command.create({
      data: {
        id: order.id,
        requestId: input.requestId,
        nodeId: node.id,
        kind: order.kind,
        transferId,
        checkpointId: checkpoint.id,
        body: JSON.stringify(order),
        state: "sent",
        fault: null,
        createdAt: new Date(now),
        acceptedAt: null,
        endedAt: null,
      },
    });
    const text = `restores ${what} to ${input.targetPath}`;
    const line = { at: now, kind: "restore-started" as const, work: "moving" as const, node, run: checkpoint.run };
    return { row, event: await recordEvent(tx, { ...line, step: order.step, text }), transferId };
  });
  if (row === null) return { transferId: made };
  countUp(hub.counters.commands, "sent");
  hub.live.putTransfer(transferRowOf(row, node.name), { toWrite: "now" });
  hub.live.send(node.id, { type: "command", command: order });
  await audit(hub, context.caller, { action: "restore", subject: `${what} on ${node.name}`, subjectId: transferId });
  emit(hub, event, ["transfers"]);
  return { transferId };
}

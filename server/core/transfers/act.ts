import { stepText } from "#protocol/checkpoint/step-words.ts";
import { isExpected } from "#protocol/fleet/node-status.ts";
import type * as z from "zod";
import { MOVING_KINDS, type Command } from "#protocol/wire/commands.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { transferAction } from "#protocol/wire/requests.ts";
import { judgeAction, type TransferState } from "#protocol/wire/transfer.ts";
import type { Transfer } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import { countUp } from "#server/platform/counters.ts";
import { audit } from "../api/audit.ts";
import { emit } from "../events/record-event.ts";
import type { Hub } from "../api/hub.ts";
import { stateOf } from "../live/live-node.ts";
import { newId } from "#server/platform/random-id.ts";
import type { Context } from "../api/trpc.ts";
import { transferRowOf } from "../live/transfer-row.ts";

/**
 * Carries out a person's action on a transfer. The node does the work, so the action becomes a command, which the node
 * receives at once or when it reconnects. Some actions take effect here, because the node may never come back. A restore
 * waiting for its turn moves in its queue, and a restore that an unreachable node has not accepted is canceled. A failed
 * transfer to be retried counts as waiting.
 */

type Action = z.infer<typeof transferAction>["action"];

function refuseIllegal(action: Action, row: Transfer, state: TransferState): void {
  // A failed upload still holds captured files, so it can be canceled; nothing is left of other failed transfers.
  const isMoot = action === "cancel" && state === "failed" && row.direction !== "upload";
  if (judgeAction(state, action) === "to do" && !isMoot) return;
  throw new Fault("CONFLICT", { op: action, subject: `${stepText(row.step)} of ${row.run}`, detail: `it is ${state}` });
}

/** Cancels a restore that no node works on, in the database. Returns whether it did. */
async function cancelUnheard(tx: Transaction, hub: Hub, row: Transfer): Promise<boolean> {
  const node = hub.live.nodes.get(row.nodeId);
  if (node !== undefined && isExpected(stateOf(node))) return false;
  const at = new Date(hub.now());
  const { count } = await tx.command.updateMany({
    where: { transferId: row.id, kind: { in: [...MOVING_KINDS] }, state: "sent", endedAt: null },
    data: { state: "cancelled", endedAt: at },
  });
  if (count === 0) return false;
  await tx.transfer.update({ where: { id: row.id }, data: { state: "cancelled", endedAt: at } });
  return true;
}

const QUEUED_STATES: Readonly<Partial<Record<Action, TransferState>>> = { pause: "paused", resume: "waiting" };

/** Changes a restore that still waits for its turn, of which its node has not heard. Returns whether it did. */
async function moveQueued(tx: Transaction, hub: Hub, about: { row: Transfer; action: Action }): Promise<boolean> {
  const { row, action } = about;
  const queued = await tx.queuedRestore.findUnique({ where: { transferId: row.id } });
  if (queued === null || queued.releasedAt !== null) return false;
  const state = QUEUED_STATES[action];
  const data = state === undefined ? { state: "cancelled", endedAt: new Date(hub.now()) } : { state };
  await tx.transfer.update({ where: { id: row.id }, data });
  return true;
}

/**
 * Carries out an action once per `requestId`. @throws Fault NOT_FOUND, NODE_REVOKED, CONFLICT when the transfer's state
 * forbids it
 */
export async function act(context: Context, input: z.infer<typeof transferAction>): Promise<{ ok: true }> {
  const { hub } = context;
  const order: Command = { kind: input.action, id: newId(), transferId: input.transferId };
  const before = hub.live.transfers.get(input.transferId)?.row;
  const { row, isNew, isOver } = await hub.db.$transaction(async (tx) => {
    const stored = await tx.transfer.findUnique({ where: { id: input.transferId } });
    if (stored === null) throw new Fault("NOT_FOUND", { subject: "this transfer" });
    const known = await tx.command.findUnique({ where: { requestId: input.requestId } });
    if (known !== null) return { row: stored, isNew: false, isOver: true };
    const owner = hub.live.nodes.get(stored.nodeId);
    if (owner === undefined || owner.revokedAt !== null)
      throw new Fault("NODE_REVOKED", { subject: owner?.name ?? "" });
    refuseIllegal(input.action, stored, before?.state ?? (stored.state as TransferState));
    const isQueued = await moveQueued(tx, hub, { row: stored, action: input.action });
    const isOver = isQueued || (input.action === "cancel" && (await cancelUnheard(tx, hub, stored)));
    if (input.action === "retry") {
      const again = { state: "waiting", endedAt: null, fault: null };
      await tx.transfer.update({ where: { id: stored.id }, data: again });
    }
    await tx.command.create({
      data: {
        id: order.id,
        requestId: input.requestId,
        nodeId: stored.nodeId,
        kind: order.kind,
        transferId: stored.id,
        checkpointId: stored.checkpointId,
        body: JSON.stringify(order),
        state: isOver ? "done" : "sent",
        fault: null,
        createdAt: new Date(hub.now()),
        acceptedAt: null,
        endedAt: isOver ? new Date(hub.now()) : null,
      },
    });
    return { row: await tx.transfer.findUniqueOrThrow({ where: { id: stored.id } }), isNew: true, isOver };
  });
  if (!isNew) return { ok: true };
  countUp(hub.counters.commands, "sent");
  if (before === undefined || before.state !== row.state) {
    const name = hub.live.nodes.get(row.nodeId)?.name ?? "";
    const isOutOfStep = before === undefined || input.action === "retry" || isOver;
    if (isOutOfStep) hub.live.putTransfer(transferRowOf(row, name), { toWrite: "now" });
  }
  hub.live.mayRestoresWait = true;
  if (!isOver) hub.live.send(row.nodeId, { type: "command", command: order });
  await audit(hub, context.caller, {
    action: input.action,
    subject: `${stepText(row.step)} of ${row.run}`,
    subjectId: row.id,
  });
  emit(hub, null, ["transfers"]);
  return { ok: true };
}

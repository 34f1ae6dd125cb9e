import { Fault } from "#protocol/faults/fault.ts";
import { isEnded } from "#protocol/wire/transfer.ts";
import { audit } from "../api/audit.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import type { Context } from "../api/trpc.ts";

/**
 * Revokes a node: its next call is refused, its open stream ends, its commands are canceled. Another node may claim its run.
 * @throws Fault NOT_FOUND
 */
export async function revokeNode(context: Context, input: { id: string }): Promise<{ ok: true }> {
  const { hub } = context;
  const node = hub.live.nodes.get(input.id);
  if (node === undefined) throw new Fault("NOT_FOUND", { subject: "this node" });
  if (node.revokedAt !== null) return { ok: true };
  const now = hub.now();
  const at = new Date(now);
  const event = await hub.db.$transaction(async (tx) => {
    await tx.node.update({ where: { id: node.id }, data: { revokedAt: at } });
    await tx.command.updateMany({
      where: { nodeId: node.id, endedAt: null },
      data: { state: "cancelled", endedAt: at },
    });
    await tx.transfer.updateMany({
      where: { nodeId: node.id, endedAt: null },
      data: { state: "failed", endedAt: at, fault: JSON.stringify({ code: "NODE_REVOKED" }) },
    });
    // The uploads of a revoked node can no longer be committed.
    await tx.checkpoint.updateMany({ where: { nodeId: node.id, state: "uploading" }, data: { state: "torn" } });
    return recordEvent(tx, { at: now, kind: "node-revoked", work: "safe", node, text: "was revoked" });
  });
  node.revokedAt = now;
  for (const { row } of hub.live.transfers.values()) {
    if (row.nodeId !== node.id || isEnded(row.state)) continue;
    const ended = { ...row, state: "failed" as const, endedAt: now, fault: { code: "NODE_REVOKED" as const } };
    hub.live.putTransfer(ended, { toWrite: "now" });
  }
  for (const mailbox of node.mailboxes) mailbox.signal.notify();
  hub.live.touchNode(node);
  await audit(hub, context.caller, { action: "revoke node", subject: node.name, subjectId: node.id });
  emit(hub, event, ["transfers", "checkpoints", "runs", "profiles"]);
  return { ok: true };
}

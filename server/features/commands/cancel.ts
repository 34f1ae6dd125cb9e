import { Fault } from "#protocol/faults/fault.ts";
import { audit } from "#server/core/api/audit.ts";
import { emit } from "#server/core/events/record-event.ts";
import type { Context } from "#server/core/api/trpc.ts";

/**
 * Cancels a command that its node has not accepted. If the node accepts it at the same moment, the node's report counts.
 * @throws Fault NOT_FOUND, CONFLICT when it was accepted, has ended, or is about one transfer
 */
export async function cancelCommand(context: Context, { id }: { id: string }): Promise<{ ok: true }> {
  const { hub } = context;
  const row = await hub.db.command.findUnique({ where: { id } });
  if (row === null) throw new Fault("NOT_FOUND", { subject: "this command" });
  if (row.transferId !== "") {
    throw new Fault("CONFLICT", { op: "cancel", subject: row.kind, detail: "cancel its transfer instead" });
  }
  const name = hub.live.nodes.get(row.nodeId)?.name ?? "a node";
  const { count } = await hub.db.command.updateMany({
    where: { id, state: "sent" },
    data: { state: "cancelled", endedAt: new Date(hub.now()) },
  });
  if (count === 0) {
    const known = await hub.db.command.findUniqueOrThrow({ where: { id } });
    if (known.state === "cancelled") return { ok: true };
    const detail = known.state === "accepted" ? "the node has accepted it" : `it is ${known.state}`;
    throw new Fault("CONFLICT", { op: "cancel", subject: `${row.kind} on ${name}`, detail });
  }
  hub.live.withdraw(row.nodeId, id);
  await audit(hub, context.caller, { action: "cancel command", subject: `${row.kind} on ${name}` });
  emit(hub, null, ["commands"]);
  return { ok: true };
}

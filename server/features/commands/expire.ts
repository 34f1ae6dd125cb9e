import { isMovingKind } from "#protocol/wire/commands.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { isEnded } from "#protocol/wire/transfer.ts";
import { formatCount } from "#protocol/base/units.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import type { Hub } from "#server/core/api/hub.ts";

const AT_ONCE = 1_000;
const KEPT_MS = 30 * 86_400_000;

/** A drill or a copy that nobody took up did not fail: the clock makes up for it. */
const stateAfter = (kind: string): "cancelled" | "failed" =>
  kind === "drill" || kind === "copy" ? "cancelled" : "failed";

/**
 * Ends commands that nobody accepted in time: from here on no node hears of them, and one that finds one on its way does
 * not carry it out. One line of history for all that expired at once.
 */
export async function expireCommands(hub: Hub): Promise<void> {
  // No command is open anywhere.
  if (hub.live.mayHaveCommands.size === 0) return;
  const now = hub.now();
  const late = await hub.db.command.findMany({
    where: { state: "sent", expiresAt: { lte: new Date(now) } },
    take: AT_ONCE,
    select: { id: true, kind: true, nodeId: true, transferId: true },
  });
  const [first] = late;
  if (first === undefined) return;
  const event = await hub.db.$transaction(async (tx) => {
    const fault = new Fault("EXPIRED").toData();
    await tx.command.updateMany({
      where: { id: { in: late.map(({ id }) => id) }, state: "sent" },
      data: { state: "expired", endedAt: new Date(now), fault: JSON.stringify(fault) },
    });
    for (const { kind, transferId } of late) {
      if (!isMovingKind(kind)) continue;
      await tx.transfer.updateMany({
        where: { id: transferId, endedAt: null },
        data: { state: stateAfter(kind), endedAt: new Date(now), fault: JSON.stringify(fault) },
      });
    }
    const node = late.length === 1 ? hub.live.nodes.get(first.nodeId) : undefined;
    const text =
      node === undefined
        ? `${formatCount(late.length)} commands expired before their nodes took them up`
        : `did not take up the command ${first.kind} in time`;
    const line = { at: now, kind: "command-expired" as const, work: "risk" as const, text };
    return recordEvent(tx, { ...line, ...(node === undefined ? {} : { node }) });
  });
  for (const { nodeId, id, transferId, kind } of late) {
    hub.live.withdraw(nodeId, id);
    const row = hub.live.transfers.get(transferId)?.row;
    const ended = { state: stateAfter(kind), endedAt: now, fault: new Fault("EXPIRED").toData() };
    if (row !== undefined && !isEnded(row.state)) hub.live.putTransfer({ ...row, ...ended }, { toWrite: "now" });
  }
  emit(hub, event, ["commands"]);
}

/** Forgets commands to whole nodes that ended long ago. Those about transfers say what a checkpoint was restored for. */
export async function forgetCommands(hub: Hub): Promise<void> {
  const before = new Date(hub.now() - KEPT_MS);
  await hub.db.command.deleteMany({ where: { transferId: "", endedAt: { lt: before } } });
}

import { isMovingKind } from "#protocol/wire/commands.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { isEnded } from "#protocol/wire/transfer.ts";
import { formatCount } from "#protocol/base/units.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import type { Hub } from "#server/core/api/hub.ts";

const AT_ONCE = 1_000;
const KEPT_MS = 30 * 86_400_000;

/** Returns the end state of an expired transfer. A drill or a copy that no node accepted did not fail: the schedule repeats it. */
const stateAfter = (kind: string): "cancelled" | "failed" =>
  kind === "drill" || kind === "copy" ? "cancelled" : "failed";

/**
 * Expires commands that nobody accepted in time. Nodes no longer receive them, and a node that still receives one does not
 * carry it out. All commands that expire at once share one event.
 */
export async function expireCommands(hub: Hub): Promise<void> {
  // No node has an open command, so no query is needed.
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

/** Deletes commands to whole nodes that ended long ago. Commands of transfers stay: they say what a checkpoint was restored for. */
export async function forgetCommands(hub: Hub): Promise<void> {
  const before = new Date(hub.now() - KEPT_MS);
  await hub.db.command.deleteMany({ where: { transferId: "", endedAt: { lt: before } } });
}

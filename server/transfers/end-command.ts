import { addDuration } from "#protocol/exposition.ts";
import { commandStatesBefore } from "#protocol/commands.ts";
import { sentenceOf } from "#protocol/fault.ts";
import type { NodeEvent } from "#protocol/reports.ts";
import { isEnded, type TransferState } from "#protocol/transfer.ts";
import { countUp } from "../counters.ts";
import { recordEvent } from "../events/record-event.ts";
import type { RecordScope } from "../nodes/record.ts";
import { transferRowOf } from "./transfer-row.ts";

/** The node has written the command into its own journal: from now on it will end, one way or the other. */
export async function acceptCommand(
  { tx, hub, node }: RecordScope,
  event: Extract<NodeEvent, { type: "command-accepted" }>,
): Promise<void> {
  const { count } = await tx.command.updateMany({
    where: { id: event.commandId, nodeId: node.id, state: { in: commandStatesBefore("accepted") } },
    data: { state: "accepted", acceptedAt: new Date(hub.now()) },
  });
  if (count === 0) return;
  const { createdAt } = await tx.command.findUniqueOrThrow({ where: { id: event.commandId } });
  addDuration(hub.counters.commandDelivery, Math.max(0, hub.now() - createdAt.getTime()) / 1000);
}

/**
 * The node is done with a command. A restore that ended without ever becoming a transfer of its own takes the row that
 * stood for it along.
 */
export async function endCommand(
  { tx, hub, node, recorded }: RecordScope,
  event: Extract<NodeEvent, { type: "command-ended" }>,
): Promise<void> {
  const at = new Date(hub.now());
  const row = await tx.command.findUnique({ where: { id: event.commandId } });
  if (row === null || row.nodeId !== node.id || row.endedAt !== null) return;
  const fault = event.fault === null ? null : JSON.stringify(event.fault);
  await tx.command.update({ where: { id: row.id }, data: { state: event.outcome, endedAt: at, fault } });
  countUp(hub.counters.commands, event.outcome);
  if (row.kind !== "restore") return;
  const transfer = await tx.transfer.findUnique({ where: { id: row.transferId } });
  if (transfer === null || isEnded(transfer.state as TransferState)) return;
  const ended = await tx.transfer.update({
    where: { id: transfer.id },
    data: { state: event.outcome, endedAt: at, fault },
  });
  countUp(hub.counters.restores, event.outcome);
  recorded.transfers.push({ row: transferRowOf(ended, node.name), endedAtNode: event.at });
  if (event.outcome !== "failed") return;
  const why = event.fault === null ? "" : `: ${sentenceOf(event.fault)}`;
  const text = `could not restore step ${transfer.step} of ${transfer.run}${why}`;
  const line = { at: hub.now(), kind: "restore-failed" as const, work: "risk" as const, node, run: transfer.run };
  recorded.events.push(await recordEvent(tx, { ...line, step: Number(transfer.step), text, fault: event.fault }));
}

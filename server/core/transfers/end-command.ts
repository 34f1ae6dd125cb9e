import { stepText } from "#protocol/checkpoint/step-words.ts";
import { commandStatesBefore, isMovingKind, PRESUMED_BY_HUB } from "#protocol/wire/commands.ts";
import { addDuration } from "#protocol/base/exposition.ts";
import { sentenceOf } from "#protocol/faults/fault.ts";
import type { NodeEvent } from "#protocol/wire/reports.ts";
import { isEnded, type TransferState } from "#protocol/wire/transfer.ts";
import { countUp } from "#server/platform/counters.ts";
import { recordEvent } from "../events/record-event.ts";
import type { RecordScope } from "./record-scope.ts";
import { transferRowOf } from "../live/transfer-row.ts";

type Ended = Extract<NodeEvent, { type: "command-ended" }>;

/** Returns whether the hub gave up a command that the node had in fact accepted in time. */
const isOverruled = (row: { state: string; transferId: string }, { outcome }: Ended): boolean =>
  row.transferId === "" &&
  PRESUMED_BY_HUB.some((state) => state === row.state) &&
  (outcome === "done" || outcome === "failed");

const detailOf = ({ detail }: Ended): { detail?: string } =>
  detail === null || detail === undefined ? {} : { detail: JSON.stringify(detail) };

/** Marks a command as accepted: the node has it in its journal, so it will report an end. */
export async function acceptCommand(
  { tx, hub, node, recorded }: RecordScope,
  event: Extract<NodeEvent, { type: "command-accepted" }>,
): Promise<void> {
  const states = [
    { state: { in: commandStatesBefore("accepted") } },
    { state: { in: [...PRESUMED_BY_HUB] }, transferId: "" },
  ];
  const { count } = await tx.command.updateMany({
    where: { id: event.commandId, nodeId: node.id, OR: states },
    data: { state: "accepted", acceptedAt: new Date(hub.now()), endedAt: null, fault: null },
  });
  recorded.commands = true;
  if (count === 0) return;
  const { createdAt } = await tx.command.findUniqueOrThrow({ where: { id: event.commandId } });
  addDuration(hub.counters.commandDelivery, Math.max(0, hub.now() - createdAt.getTime()) / 1000);
}

/** Ends a command. If a restore ends before it became a transfer of its own, the waiting transfer row ends too. */
export async function endCommand({ tx, hub, node, recorded }: RecordScope, event: Ended): Promise<void> {
  const at = new Date(hub.now());
  const row = await tx.command.findUnique({ where: { id: event.commandId } });
  if (row === null || row.nodeId !== node.id || (row.endedAt !== null && !isOverruled(row, event))) return;
  const fault = event.fault === null ? null : JSON.stringify(event.fault);
  await tx.command.update({
    where: { id: row.id },
    data: { state: event.outcome, endedAt: at, fault, ...detailOf(event) },
  });
  recorded.commands = true;
  if (row.transferId === "" && event.outcome === "failed") {
    const why = event.fault === null ? "" : `: ${sentenceOf(event.fault)}`;
    const text = `could not carry out the command ${row.kind}${why}`;
    const line = { at: hub.now(), kind: "command-failed" as const, work: "risk" as const, node, text };
    recorded.events.push(await recordEvent(tx, { ...line, ...(row.run === null ? {} : { run: row.run }) }));
  }
  countUp(hub.counters.commands, event.outcome);
  if (!isMovingKind(row.kind)) return;
  const transfer = await tx.transfer.findUnique({ where: { id: row.transferId } });
  if (transfer === null || isEnded(transfer.state as TransferState)) return;
  const ended = await tx.transfer.update({
    where: { id: transfer.id },
    data: { state: event.outcome, endedAt: at, fault },
  });
  countUp(row.kind === "restore" ? hub.counters.restores : hub.counters.checks, event.outcome);
  recorded.transfers.push({ row: transferRowOf(ended, node.name), endedAtNode: event.at });
  if (event.outcome !== "failed") return;
  const why = event.fault === null ? "" : `: ${sentenceOf(event.fault)}`;
  const text = `could not ${row.kind === "restore" ? "restore" : "verify"} ${stepText(transfer.step)} of ${transfer.run}${why}`;
  const kind = row.kind === "restore" ? ("restore-failed" as const) : ("check-failed" as const);
  const line = { at: hub.now(), kind, work: "risk" as const, node, run: transfer.run };
  recorded.events.push(await recordEvent(tx, { ...line, step: Number(transfer.step), text, fault: event.fault }));
}

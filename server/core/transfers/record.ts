import type * as z from "zod";
import type { NodeEvent, recordInput } from "#protocol/wire/reports.ts";
import { formatDuration } from "#protocol/base/units.ts";
import { recordEvent } from "../events/record-event.ts";
import { hasWritten } from "../runs/is-writer.ts";
import { recordPassedOver } from "../runs/passed-over.ts";
import { recordInterruption } from "../runs/record-loss.ts";
import { acceptCommand, endCommand } from "./end-command.ts";
import { endTransfer } from "./end-transfer.ts";
import type { Context } from "../api/trpc.ts";
import { hearCaller } from "../nodes/hear-caller.ts";
import type { NodeCaller } from "../api/caller.ts";
import type { OnTransferEnded, Recorded, RecordScope } from "./record-scope.ts";

/**
 * Records a node's durable events exactly once, in the order of their numbers, however often they arrive. One transaction
 * holds the events, their consequences and the highest number taken. Only then does the answer let the node delete them.
 */

/**
 * Returns whether a node may report on a run: it has written the run, or the run has no writer yet. Other reports are
 * ignored, because a refusal would block the node's outbox.
 */
async function isOfWriter(
  { tx, hub, node }: RecordScope,
  { run, type }: { run: string; type: string },
): Promise<boolean> {
  if ((await hasWritten(tx, { run }, node.id)) || (await tx.epoch.count({ where: { run } })) === 0) return true;
  hub.log.warn({ node: node.id, run, type }, "a node spoke of a run that others write");
  return false;
}

async function take(scope: RecordScope, event: NodeEvent, onTransferEnded: readonly OnTransferEnded[]): Promise<void> {
  switch (event.type) {
    case "transfer-ended":
      return endTransfer(scope, event, onTransferEnded);
    case "command-accepted":
      return acceptCommand(scope, event);
    case "command-ended":
      return endCommand(scope, event);
    case "program-ended": {
      const { hub, tx, node, recorded } = scope;
      if (!(await isOfWriter(scope, event))) return;
      const how = event.signal === null ? `with ${event.code}` : `by ${event.signal}`;
      const text = `saw the program of ${event.run} end ${how} after ${formatDuration(event.ranMs)}`;
      const work = event.code === 0 ? ("safe" as const) : ("risk" as const);
      const line = { at: hub.now(), kind: "program-ended" as const, work, node, run: event.run, text };
      recorded.events.push(await recordEvent(tx, { ...line, ...(event.tail !== "" && { detail: event.tail }) }));
      return;
    }
    case "work-lost":
      scope.recorded.events.push(...(await recordInterruption(scope, event)));
      return;
    case "began-elsewhere":
      scope.recorded.events.push(...(await recordPassedOver(scope, event)));
      return;
    case "capture-refused": {
      const { hub, tx, node, recorded } = scope;
      if (!(await isOfWriter(scope, event))) return;
      const text = `did not take ${event.path} of ${event.run}`;
      const line = { at: hub.now(), kind: "capture-refused" as const, work: "risk" as const, node, run: event.run };
      recorded.events.push(await recordEvent(tx, { ...line, text, fault: event.fault }));
    }
  }
}

/** Records events of the calling node. `onTransferEnded` are hooks of features. @throws Fault NODE_UNKNOWN, NODE_REVOKED */
export async function record(
  { hub, caller }: Context & { caller: NodeCaller },
  input: z.infer<typeof recordInput>,
  onTransferEnded: readonly OnTransferEnded[],
): Promise<{ acceptedThrough: number }> {
  const node = await hearCaller({ hub, caller });
  const recorded: Recorded = { events: [], transfers: [], commands: false };
  const acceptedThrough = await hub.db.$transaction(async (tx) => {
    const { acceptedSeq } = await tx.node.findUniqueOrThrow({ where: { id: node.id } });
    let through = acceptedSeq;
    for (const event of input.events.toSorted((a, b) => a.seq - b.seq)) {
      if (event.seq <= through) continue;
      await take({ tx, hub, node, recorded }, event, onTransferEnded);
      through = event.seq;
    }
    if (through > acceptedSeq) await tx.node.update({ where: { id: node.id }, data: { acceptedSeq: through } });
    return through;
  });
  for (const { row, endedAtNode } of recorded.transfers) {
    hub.live.putTransfer(row, { toWrite: "now", ...(endedAtNode === null ? {} : { endedAtNode }) });
  }
  for (const event of recorded.events) hub.live.addEvent(event);
  // A restore among them may have fallen back to another checkpoint.
  if (recorded.transfers.length > 0) {
    hub.live.mayRestoresWait = true;
    hub.live.mayFindingsWait = true;
  }
  if (recorded.transfers.length > 0) hub.live.markStale(["transfers", "checkpoints", "runs"]);
  if (recorded.commands) hub.live.markStale(["commands"]);
  if (recorded.events.length > 0) hub.live.markStale(["events"]);
  return { acceptedThrough };
}

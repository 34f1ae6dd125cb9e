import { stepText } from "#protocol/checkpoint/step-words.ts";
import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import type { doubtInput } from "#protocol/wire/hello.ts";
import type { NodeCaller } from "#server/core/api/caller.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { liveNodeOf } from "#server/core/nodes/live-node-of.ts";
import { queueFinding } from "./queue-finding.ts";

/** Said in place of a reason that names files of an encrypted checkpoint. */
const HIDDEN = "it may not be whole; its node says why";

/**
 * Makes a complete checkpoint doubtful, because the node that wrote it learned later that files of its step are missing. The first
 * doubt counts; it is written to the bucket as a finding, so that a rebuilt hub knows it. @throws Fault NOT_THIS_NODES
 */
export async function doubtLater(
  { hub, caller }: Context & { caller: NodeCaller },
  { checkpointId, why }: z.infer<typeof doubtInput>,
): Promise<{ ok: true }> {
  const node = liveNodeOf(hub, caller.nodeId);
  const event = await hub.db.$transaction(async (tx) => {
    const row = await tx.checkpoint.findUnique({ where: { id: checkpointId } });
    if (row === null) return null;
    if (row.nodeId !== node.id) throw new Fault("NOT_THIS_NODES", { op: "doubt", subject: checkpointId });
    if (row.state !== "complete" || row.doubt !== null || row.role !== null) return null;
    const doubt = row.sealKeyId === null ? why : HIDDEN;
    await tx.checkpoint.update({ where: { id: checkpointId }, data: { doubt } });
    await queueFinding(tx, row, { at: new Date(hub.now()), found: { kind: "doubtful", why: doubt } });
    return recordEvent(tx, {
      at: hub.now(),
      kind: "check-failed",
      work: "risk",
      node,
      run: row.run,
      step: Number(row.step),
      text: `found ${stepText(row.step)} of ${row.run} doubtful: ${visibleText(doubt)}`,
    });
  });
  if (event !== null) emit(hub, event, ["checkpoints", "runs"]);
  return { ok: true };
}

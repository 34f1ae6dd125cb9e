import { damageWords } from "#protocol/damage.ts";
import type { NodeEvent } from "#protocol/reports.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { mayRead } from "../checkpoints/assigned.ts";
import { recordEvent } from "../events/record-event.ts";
import type { RecordScope } from "../nodes/record.ts";

type Ended = Extract<NodeEvent, { type: "transfer-ended" }>;

/**
 * What the end of a transfer says of its checkpoint: that every byte of it was read and right (a verification, a drill, a
 * restore of all files), or which bytes are not what was committed. Only the word of a node that was asked to read it, or
 * that writes the run, counts. Whole again is what was read whole: that clears the damage.
 */
export async function recordFindings(scope: RecordScope, event: Ended, checkpoint: Checkpoint | null): Promise<void> {
  const { tx, hub, node, recorded } = scope;
  if (event.direction === "upload" || checkpoint === null || checkpoint.state !== "complete") return;
  const isSound = event.state === "done" && event.isPartial !== true && event.damage === undefined;
  if (!isSound && event.damage === undefined) return;
  if (checkpoint.profileId !== node.profileId || !(await mayRead(tx, node, checkpoint))) return;
  const at = new Date(hub.now());
  const where = { id: checkpoint.id };
  if (event.damage === undefined) {
    await tx.checkpoint.update({ where, data: { verifiedAt: at, damagedAt: null, damage: null } });
    return;
  }
  // A verification tells every range exactly; what a restore stumbled over adds nothing to that.
  const isExact = event.direction === "verify" || checkpoint.damagedAt === null;
  if (isExact) {
    await tx.checkpoint.update({ where, data: { damagedAt: at, damage: JSON.stringify(event.damage) } });
  }
  const text = `found step ${event.step} of ${event.run} damaged: ${damageWords(event.damage)}`;
  const line = { at: hub.now(), kind: "checkpoint-damaged" as const, work: "lost" as const, node, run: event.run };
  recorded.events.push(
    await recordEvent(tx, { ...line, step: event.step, text, fault: event.damage.ranges[0]?.fault ?? null }),
  );
}

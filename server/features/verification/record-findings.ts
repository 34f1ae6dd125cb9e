import { stepText } from "#protocol/checkpoint/step-words.ts";
import { damageWords, withoutNames, type DamageReport } from "#protocol/checkpoint/damage.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { mayRead } from "#server/core/runs/assigned.ts";
import { profilesFor } from "#server/core/profiles/homes-of.ts";
import { promoteSound } from "#server/core/runs/promote-sound.ts";
import { recordEvent } from "#server/core/events/record-event.ts";
import type { RecordScope, TransferEnded } from "#server/core/transfers/record-scope.ts";
import { queueFinding, type CopyRead } from "./queue-finding.ts";

/**
 * Records what the end of a transfer proves about its checkpoint. Either every byte was read and is right (a verification, a
 * drill, a restore of all files), or some bytes differ from what was committed. Only reports of a node that was asked to read
 * it, or that writes the run, count. A complete good read clears earlier damage. The finding concerns the copy that was read;
 * if the primary copy is damaged, a sound one takes its place.
 */
export async function recordFindings(
  scope: RecordScope,
  event: TransferEnded,
  checkpoint: Checkpoint | null,
): Promise<void> {
  const { tx, node } = scope;
  if (event.direction === "upload" || event.direction === "copy") return;
  if (checkpoint === null || checkpoint.state !== "complete") return;
  const left = event.damagedCopies ?? [];
  const isSound = event.state === "done" && event.isPartial !== true && event.damage === undefined;
  if (!isSound && event.damage === undefined && left.length === 0) return;
  const mayTake = (await profilesFor(tx, checkpoint)).has(node.profileId);
  if (!mayTake || !(await mayRead(tx, node, checkpoint))) return;
  const profileId = event.profileId ?? checkpoint.profileId;
  for (const { profileId: at, damage } of left) await noteDamage(scope, event, { checkpoint, profileId: at, damage });
  if (event.damage !== undefined) await noteDamage(scope, event, { checkpoint, profileId, damage: event.damage });
  else if (isSound) await noteSound(scope, checkpoint, profileId);
  await promoteSound(tx, checkpoint.id);
}

interface At {
  checkpoint: Checkpoint;
  profileId: string;
  damage: DamageReport;
}

/** Returns the copy in this bucket, the primary or another one; null when it is not complete there. */
async function copyIn({ tx }: RecordScope, checkpoint: Checkpoint, profileId: string) {
  if (profileId === checkpoint.profileId) return checkpoint;
  const where = { checkpointId_profileId: { checkpointId: checkpoint.id, profileId } };
  const copy = await tx.checkpointCopy.findUnique({ where, omit: { manifest: true } });
  return copy?.state === "complete" ? { ...copy, id: checkpoint.id } : null;
}

type News = { verifiedAt?: Date; damagedAt: Date | null; damage: string | null };

async function note({ tx }: RecordScope, copy: CopyRead, about: { checkpoint: Checkpoint; data: News }): Promise<void> {
  const { checkpoint, data } = about;
  const at = { checkpointId: checkpoint.id, profileId: copy.profileId };
  if (copy.profileId === checkpoint.profileId) await tx.checkpoint.update({ where: { id: checkpoint.id }, data });
  else await tx.checkpointCopy.update({ where: { checkpointId_profileId: at }, data });
}

async function noteSound(scope: RecordScope, checkpoint: Checkpoint, profileId: string): Promise<void> {
  const copy = await copyIn(scope, checkpoint, profileId);
  if (copy === null) return;
  const at = new Date(scope.hub.now());
  await queueFinding(scope.tx, copy, { at, found: { kind: "verified" } });
  await note(scope, copy, { checkpoint, data: { verifiedAt: at, damagedAt: null, damage: null } });
}

async function noteDamage(
  scope: RecordScope,
  event: TransferEnded,
  { checkpoint, profileId, damage }: At,
): Promise<void> {
  const { tx, hub, node, recorded } = scope;
  const copy = await copyIn(scope, checkpoint, profileId);
  if (copy === null) return;
  // A verification reports every damaged range; a restore stops at the first, so it adds nothing to known damage.
  if (event.direction === "verify" || copy.damagedAt === null) {
    const at = new Date(hub.now());
    const report = checkpoint.sealKeyId === null ? damage : withoutNames(damage);
    await queueFinding(tx, copy, { at, found: { kind: "damaged", report } });
    await note(scope, copy, { checkpoint, data: { damagedAt: at, damage: JSON.stringify(damage) } });
  }
  const others = await tx.checkpointCopy.count({ where: { checkpointId: checkpoint.id, state: "complete" } });
  const where = others > 0 ? ` in ${copy.bucket}` : "";
  const text = `found ${stepText(event.step)} of ${event.run} damaged${where}: ${damageWords(damage)}`;
  const line = { at: hub.now(), kind: "checkpoint-damaged" as const, work: "lost" as const, node, run: event.run };
  recorded.events.push(
    await recordEvent(tx, { ...line, step: event.step, text, fault: damage.ranges[0]?.fault ?? null }),
  );
}

import { stepText } from "#protocol/checkpoint/step-words.ts";
import { basename, dirname, join } from "node:path/posix";
import { command } from "#protocol/wire/commands.ts";
import { damageWords } from "#protocol/checkpoint/damage.ts";
import { nameOfPlace, placeOf } from "#protocol/checkpoint/place.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { announcedIn } from "#server/core/checkpoints/manifest/check-manifest.ts";
import { completeBefore } from "#server/core/runs/newest.ts";
import { placeOfRow } from "#server/core/runs/place-of-row.ts";
import { profilesFor } from "#server/core/profiles/homes-of.ts";
import { recordEvent } from "#server/core/events/record-event.ts";
import type { RecordScope, TransferEnded } from "#server/core/transfers/record-scope.ts";
import { transferRowOf } from "#server/core/live/transfer-row.ts";
import { queueRestore } from "./queue-restore.ts";
import { readChoice } from "./read-choice.ts";

type Placed = Pick<Checkpoint, "step" | "role" | "place"> & { files: readonly { path: string }[] };

const placeOfPlaced = ({ step, role, files, ...row }: Placed): string =>
  placeOf({ step: Number(step), role, files }, placeOfRow(row)).path;

/**
 * Returns the target path of another checkpoint of the run: renamed for it where the first path had the step or place in its
 * name.
 */
export function pathForOther(path: string, { from, to }: { from: Placed; to: Placed }): string {
  const [own, other] = [placeOfPlaced(from), placeOfPlaced(to)];
  if (path.endsWith(`/${own}`)) return path.slice(0, -own.length) + other;
  if (basename(path) === `checkpoint-${from.step}`) return join(dirname(path), `checkpoint-${to.step}`);
  if (basename(path) === `step-${from.step}`) return join(dirname(path), `step-${to.step}`);
  return basename(path) === nameOfPlace(own) ? join(dirname(path), nameOfPlace(other)) : path;
}

/**
 * Restores the complete checkpoint before a damaged one, if the requester allowed it: on the same node, the same files, once
 * for each failure. An event gives the reason.
 */
export async function fallBack(scope: RecordScope, event: TransferEnded, checkpoint: Checkpoint | null): Promise<void> {
  const { tx, hub, node, recorded } = scope;
  const { damage } = event;
  if (event.direction !== "download" || event.state !== "failed" || damage === undefined || checkpoint === null) return;
  const failed = await tx.queuedRestore.findUnique({ where: { transferId: event.transferId } });
  if (failed === null || !failed.mayFallBack || failed.nodeId !== node.id) return;
  const again = { requestId: `after ${failed.transferId}` };
  if ((await tx.queuedRestore.findUnique({ where: again })) !== null) return;
  const now = hub.now();
  const line = { at: now, node, run: checkpoint.run, work: "risk" as const };
  const why = `${stepText(checkpoint.step)} is damaged (${damageWords(damage)})`;
  const before = await completeBefore(tx, checkpoint);
  const content =
    before === null ? null : await tx.checkpointContent.findUnique({ where: { checkpointId: before.id } });
  if (before === null || content?.manifest == null || !(await profilesFor(tx, before)).has(node.profileId)) {
    const text = `has nothing to fall back to: ${why}, and ${checkpoint.run} has no complete step before it`;
    recorded.events.push(
      await recordEvent(tx, { ...line, kind: "restore-failed", step: Number(checkpoint.step), text }),
    );
    return;
  }
  const order = command.parse(JSON.parse(failed.body));
  if (order.kind !== "restore") return;
  const files = order.files ?? null;
  const tensors = order.tensors ?? null;
  const whole = await amountsOf({ manifest: content.manifest, files: content.files }, files);
  if (whole === null) return;
  // The size of the tensors is taken from the failed restore; the node reports the exact size after it reads the headers.
  const amounts = tensors === null ? whole : await plannedFor(tx, failed.transferId);
  const own = await tx.checkpointContent.findUnique({ where: { checkpointId: checkpoint.id } });
  const targetPath = pathForOther(order.targetPath, {
    from: { ...checkpoint, files: announcedIn(own?.files ?? "[]") },
    to: { ...before, files: announcedIn(content.files) },
  });
  const row = await queueRestore(tx, {
    ...again,
    batchId: failed.batchId,
    nodeId: node.id,
    checkpoint: before,
    targetPath,
    files,
    tensors,
    amounts,
    mayFallBack: true,
    position: failed.position,
    at: new Date(now),
  });
  recorded.transfers.push({ row: transferRowOf(row, node.name), endedAtNode: null });
  const text = `falls back to ${stepText(before.step)} of ${checkpoint.run}: ${why}`;
  recorded.events.push(await recordEvent(tx, { ...line, kind: "restore-started", step: Number(before.step), text }));
}

async function plannedFor(
  tx: RecordScope["tx"],
  transferId: string,
): Promise<{ fileCount: number; sizeBytes: number }> {
  const { filesTotal, bytesTotal } = await tx.transfer.findUniqueOrThrow({ where: { id: transferId } });
  return { fileCount: filesTotal, sizeBytes: Number(bytesTotal) };
}

/** Returns the amounts of the chosen files; null when the earlier step lacks some of them. */
async function amountsOf(
  content: { manifest: string; files: string },
  files: Parameters<typeof queueRestore>[1]["files"],
): Promise<{ fileCount: number; sizeBytes: number } | null> {
  try {
    return await readChoice(content, files === null ? null : { files });
  } catch {
    return null;
  }
}

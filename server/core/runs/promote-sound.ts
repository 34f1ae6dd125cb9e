import type { Transaction } from "#prisma/open.ts";

/**
 * Swaps a damaged copy in a checkpoint's row with a sound copy from another bucket. Readers that use the row then read the
 * sound copy, and the checkpoint as a whole no longer counts as damaged. Returns whether it swapped.
 */
export async function promoteSound(
  tx: Pick<Transaction, "checkpoint" | "checkpointCopy" | "checkpointContent">,
  checkpointId: string,
): Promise<boolean> {
  const first = await tx.checkpoint.findUnique({ where: { id: checkpointId }, include: { content: true } });
  if (first === null || first.state !== "complete" || first.damagedAt === null || first.content === null) return false;
  const sound = await tx.checkpointCopy.findFirst({
    where: { checkpointId, state: "complete", damagedAt: null },
    orderBy: { committedAt: "asc" },
  });
  if (sound === null) return false;
  await tx.checkpointCopy.delete({ where: { checkpointId_profileId: { checkpointId, profileId: sound.profileId } } });
  await tx.checkpoint.update({
    where: { id: checkpointId },
    data: {
      profileId: sound.profileId,
      bucket: sound.bucket,
      prefix: sound.prefix,
      attempt: sound.attempt,
      manifestKey: sound.manifestKey,
      manifestSha256: sound.manifestSha256,
      verifiedAt: sound.verifiedAt,
      damagedAt: null,
      damage: null,
    },
  });
  await tx.checkpointContent.update({ where: { checkpointId }, data: { manifest: sound.manifest } });
  await tx.checkpointCopy.create({
    data: {
      checkpointId,
      profileId: first.profileId,
      run: first.run,
      bucket: first.bucket,
      prefix: first.prefix,
      state: "complete",
      attempt: first.attempt,
      nodeId: first.nodeId,
      startedAt: first.announcedAt,
      committedAt: first.committedAt,
      manifestKey: first.manifestKey,
      manifestSha256: first.manifestSha256,
      manifest: first.content.manifest,
      verifiedAt: first.verifiedAt,
      damagedAt: first.damagedAt,
      damage: first.damage,
    },
  });
  return true;
}

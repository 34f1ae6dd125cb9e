import type { Transaction } from "#prisma/open.ts";

type Tx = Pick<Transaction, "checkpoint" | "epoch">;

/**
 * Marks what a person left behind by starting a run from an earlier step (`--from`): every complete checkpoint of earlier epochs
 * that is newer than the start of the chosen one. It stays in the bucket, can be restored, and is not the newest any more. A
 * step that was abandoned before and is chosen now counts again. May be repeated.
 */
export async function abandonNewer(
  tx: Tx,
  { run, epoch, parent }: { run: string; epoch: number; parent: { epoch: number; step: number } | null },
  at: Date,
): Promise<void> {
  const newer =
    parent === null
      ? {}
      : {
          OR: [{ writerEpoch: { gt: parent.epoch } }, { writerEpoch: parent.epoch, step: { gt: BigInt(parent.step) } }],
        };
  await tx.checkpoint.updateMany({
    where: { run, state: "complete", role: null, abandonedAt: null, AND: [{ writerEpoch: { lt: epoch } }, newer] },
    data: { abandonedAt: at },
  });
  if (parent === null) return;
  await tx.checkpoint.updateMany({
    where: { run, writerEpoch: parent.epoch, step: BigInt(parent.step), role: null },
    data: { abandonedAt: null },
  });
}

/** Does the same for all chosen epochs of a run, in their order: after the database was rebuilt from the bucket. */
export async function abandonAgain(tx: Tx, run: string): Promise<void> {
  const chosen = await tx.epoch.findMany({ where: { run, isChosen: true }, orderBy: { epoch: "asc" } });
  for (const { epoch, parentEpoch, parentStep, claimedAt } of chosen) {
    const parent =
      parentEpoch === null || parentStep === null ? null : { epoch: parentEpoch, step: Number(parentStep) };
    await abandonNewer(tx, { run, epoch, parent }, claimedAt);
  }
}

import type { Transaction } from "#prisma/open.ts";

type Tx = Pick<Transaction, "checkpoint" | "epoch">;

/**
 * Marks checkpoints as abandoned after a person started a run from an earlier step (`--from`). These are all complete
 * checkpoints of earlier epochs that are newer than that start. They stay in the bucket and can be restored, but no longer
 * count as the newest. An abandoned step that is chosen now counts again. Idempotent.
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

/** Does the same for all chosen epochs of a run in their order, after a rebuild of the database from the bucket. */
export async function abandonAgain(tx: Tx, run: string): Promise<void> {
  const chosen = await tx.epoch.findMany({ where: { run, isChosen: true }, orderBy: { epoch: "asc" } });
  for (const { epoch, parentEpoch, parentStep, claimedAt } of chosen) {
    const parent =
      parentEpoch === null || parentStep === null ? null : { epoch: parentEpoch, step: Number(parentStep) };
    await abandonNewer(tx, { run, epoch, parent }, claimedAt);
  }
}

import type { LineBranch } from "#protocol/checkpoint/line-branch.ts";
import type { Transaction } from "#prisma/open.ts";
import { branchOfRow } from "./passed-over.ts";

/** Returns where an epoch started, and where it branches off when it is a new line of training. */
export async function originOf(
  db: Pick<Transaction, "epoch">,
  { run, epoch }: { run: string; epoch: number },
): Promise<{ parent: { epoch: number; step: number } | null; branch: LineBranch | null }> {
  const row = await db.epoch.findUnique({ where: { run_epoch: { run, epoch } } });
  const branch = branchOfRow(row?.branch ?? null);
  if (row === null || row.parentEpoch === null || row.parentStep === null) return { parent: null, branch };
  return { parent: { epoch: row.parentEpoch, step: Number(row.parentStep) }, branch };
}

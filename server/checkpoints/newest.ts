import type { Transaction } from "#prisma/open.ts";

/** The newest complete checkpoint of a run (highest epoch, then highest step), or null when it truly has none. */
export async function newestComplete(tx: Pick<Transaction, "checkpoint">, run: string) {
  return tx.checkpoint.findFirst({
    where: { run, state: "complete" },
    orderBy: [{ writerEpoch: "desc" }, { step: "desc" }, { committedAt: "desc" }],
  });
}

/** The latest epoch of a run: its node is the only one that may write. */
export const currentEpoch = (tx: Pick<Transaction, "epoch">, run: string) =>
  tx.epoch.findFirst({ where: { run }, orderBy: { epoch: "desc" } });

import type { Transaction } from "#prisma/open.ts";

/** The newest complete checkpoint of a run (highest epoch, then highest step), or of one step of it; null when it truly has none. */
export async function newestComplete(tx: Pick<Transaction, "checkpoint">, run: string, step?: number) {
  return tx.checkpoint.findFirst({
    where: { run, state: "complete", ...(step === undefined ? {} : { step: BigInt(step) }) },
    orderBy: [{ writerEpoch: "desc" }, { step: "desc" }, { committedAt: "desc" }],
  });
}

/** The latest epoch of a run: its node is the only one that may write. */
export const currentEpoch = (tx: Pick<Transaction, "epoch">, run: string) =>
  tx.epoch.findFirst({ where: { run }, orderBy: { epoch: "desc" } });

import type { Transaction } from "#prisma/open.ts";

const NEWEST = [{ writerEpoch: "desc" as const }, { step: "desc" as const }, { committedAt: "desc" as const }];

/**
 * The newest complete checkpoint of a run: highest epoch, then highest step; null when it truly has none. One that is known
 * to be damaged is passed over for the one before it, unless there is no other.
 */
export async function newestComplete(tx: Pick<Transaction, "checkpoint">, run: string) {
  const find = (where: { damagedAt?: null }) =>
    tx.checkpoint.findFirst({ where: { run, state: "complete", ...where }, orderBy: NEWEST });
  return (await find({ damagedAt: null })) ?? (await find({}));
}

/** The newest complete checkpoint of one step, whatever is known of it. */
export const newestOfStep = (tx: Pick<Transaction, "checkpoint">, run: string, step: number) =>
  tx.checkpoint.findFirst({ where: { run, state: "complete", step: BigInt(step) }, orderBy: NEWEST });

/** The newest of those that are complete, older than this one, and not known to be damaged. */
export const completeBefore = (
  tx: Pick<Transaction, "checkpoint">,
  { run, writerEpoch, step }: { run: string; writerEpoch: number; step: bigint },
) =>
  tx.checkpoint.findFirst({
    where: {
      run,
      state: "complete",
      damagedAt: null,
      OR: [{ writerEpoch: { lt: writerEpoch } }, { writerEpoch, step: { lt: step } }],
    },
    orderBy: NEWEST,
  });

/** The latest epoch of a run: its node is the only one that may write. */
export const currentEpoch = (tx: Pick<Transaction, "epoch">, run: string) =>
  tx.epoch.findFirst({ where: { run }, orderBy: { epoch: "desc" } });

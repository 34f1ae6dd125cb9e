import { Fault } from "#protocol/fault.ts";
import type { Transaction } from "#prisma/open.ts";
import { currentEpoch } from "./newest.ts";

/**
 * Only the node of the latest epoch writes, and only under that epoch.
 * @throws Fault EPOCH_OVER
 */
export async function requireWriter(
  tx: Pick<Transaction, "epoch">,
  claim: { run: string; epoch: number; nodeId: string },
): Promise<void> {
  const current = await currentEpoch(tx, claim.run);
  if (current === null || current.epoch !== claim.epoch || current.nodeId !== claim.nodeId) {
    const detail = current === null ? "no epoch was claimed" : `epoch ${claim.epoch}, now ${current.epoch}`;
    throw new Fault("EPOCH_OVER", { subject: claim.run, detail });
  }
}

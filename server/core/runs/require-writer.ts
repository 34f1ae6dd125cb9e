import { Fault } from "#protocol/faults/fault.ts";
import type { Transaction } from "#prisma/open.ts";
import { isOfEpoch } from "./is-writer.ts";

/**
 * Checks that a node may write: it holds the latest epoch, alone or in its group, and writes under that epoch. After a part
 * of the database was lost, no node may write before the bucket was searched for later epochs. @throws Fault EPOCH_OVER,
 * NODE_REVOKED, HISTORY_UNREAD
 */
export async function requireWriter(
  tx: Pick<Transaction, "epoch" | "epochMember" | "node">,
  claim: { run: string; epoch: number; nodeId: string },
): Promise<void> {
  const current = await tx.epoch.findFirst({
    where: { run: claim.run },
    orderBy: { epoch: "desc" },
    include: { runRow: { select: { highestSeen: true } } },
  });
  if (current !== null && current.runRow.highestSeen === null) {
    throw new Fault("HISTORY_UNREAD", { subject: claim.run });
  }
  if (current === null || current.epoch !== claim.epoch || !(await isOfEpoch(tx, current, claim.nodeId))) {
    const detail = current === null ? "no epoch was claimed" : `epoch ${claim.epoch}, now ${current.epoch}`;
    throw new Fault("EPOCH_OVER", { subject: claim.run, detail });
  }
  // The bucket has a later epoch that the database lacks.
  if (current.epoch < (current.runRow.highestSeen ?? 0)) throw new Fault("EPOCH_OVER", { subject: claim.run });
  // The node may have been revoked since its call was admitted.
  const node = await tx.node.findUnique({ where: { id: claim.nodeId }, select: { revokedAt: true } });
  if (node?.revokedAt !== null) throw new Fault("NODE_REVOKED");
}

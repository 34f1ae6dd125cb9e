import { Fault } from "#protocol/faults/fault.ts";
import type { Transaction } from "#prisma/open.ts";

/**
 * Returns whether the node of an attempt still has the run under the epoch that it was handed, or under a later one of its
 * own: a program that starts over opens one. @throws Fault HISTORY_UNREAD before the bucket was searched for later epochs
 */
export async function holdsLease(
  tx: Pick<Transaction, "run" | "epoch">,
  { run, epoch, nodeId }: { run: string; epoch: number | null; nodeId: string },
): Promise<boolean> {
  if (epoch === null) return false;
  const found = await tx.run.findUnique({ where: { name: run }, select: { highestSeen: true } });
  if (found === null) return false;
  if (found.highestSeen === null) throw new Fault("HISTORY_UNREAD", { subject: run });
  const epochs = await tx.epoch.findMany({ where: { run, epoch: { gte: epoch } }, orderBy: { epoch: "desc" } });
  const [current] = epochs;
  if (current === undefined || current.epoch < found.highestSeen) return false;
  return epochs.every((one) => one.nodeId === nodeId);
}

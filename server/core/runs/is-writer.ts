import type { Transaction } from "#prisma/open.ts";
import { currentEpoch } from "./newest.ts";

type Db = Pick<Transaction, "epoch" | "epochMember">;

/** Returns whether a node is one of those that write an epoch: the node of its claim, or one of a group. */
export async function isOfEpoch(
  db: Pick<Transaction, "epochMember">,
  epoch: { run: string; epoch: number; nodeId: string; groupOf: number | null },
  nodeId: string,
): Promise<boolean> {
  if (epoch.groupOf === null) return epoch.nodeId === nodeId;
  return (await db.epochMember.count({ where: { run: epoch.run, epoch: epoch.epoch, nodeId } })) > 0;
}

/** Returns whether a node writes a run now; null: nobody has written it yet. */
export async function isWriter(db: Db, run: string, nodeId: string): Promise<boolean | null> {
  const epoch = await currentEpoch(db, run);
  return epoch === null ? null : isOfEpoch(db, epoch, nodeId);
}

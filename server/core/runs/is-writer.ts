import type { Transaction } from "#prisma/open.ts";
import { currentEpoch } from "./newest.ts";

type Db = Pick<Transaction, "epoch" | "epochMember">;

/** Returns whether a node writes an epoch: as the node of its claim, or as a member of its group. */
export async function isOfEpoch(
  db: Pick<Transaction, "epochMember">,
  epoch: { run: string; epoch: number; nodeId: string; groupOf: number | null },
  nodeId: string,
): Promise<boolean> {
  if (epoch.groupOf === null) return epoch.nodeId === nodeId;
  return (await db.epochMember.count({ where: { run: epoch.run, epoch: epoch.epoch, nodeId } })) > 0;
}

/** Returns whether a node has written a run, or that epoch of it: as the node of a claim, or as a member of a group. */
export const hasWritten = async (db: Db, of: { run: string; epoch?: number }, nodeId: string): Promise<boolean> =>
  (await db.epoch.count({ where: { ...of, nodeId } })) > 0 ||
  (await db.epochMember.count({ where: { ...of, nodeId } })) > 0;

/** Returns whether a node writes a run now; null: the run has no writer yet. */
export async function isWriter(db: Db, run: string, nodeId: string): Promise<boolean | null> {
  const epoch = await currentEpoch(db, run);
  return epoch === null ? null : isOfEpoch(db, epoch, nodeId);
}

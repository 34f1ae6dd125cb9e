import type { Epoch } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import { isOfEpoch } from "./is-writer.ts";

/** More lines than a node opens at one start. */
const MOST_LINES = 64;

/**
 * Returns the epochs after one that a node wrote, when all of them are new lines that its program, or that of its group, began
 * while it ran. Null: it never wrote that epoch, or the run was taken over or started elsewhere since.
 */
export async function linesAfter(
  db: Pick<Transaction, "epoch" | "epochMember">,
  { run, epoch, nodeId }: { run: string; epoch: number; nodeId: string },
): Promise<Epoch[] | null> {
  const where = { run, epoch: { gte: epoch } };
  const [own, ...lines] = await db.epoch.findMany({ where, orderBy: { epoch: "asc" }, take: MOST_LINES });
  const last = lines.at(-1);
  if (own?.epoch !== epoch || !(await isOfEpoch(db, own, nodeId))) return null;
  const isOwn = (line: Epoch) =>
    line.branch !== null &&
    !line.isChosen &&
    line.groupOf === own.groupOf &&
    (own.groupOf !== null || line.nodeId === nodeId);
  if (lines.length === MOST_LINES - 1 || !lines.every(isOwn)) return null;
  if (own.groupOf === null || last === undefined) return lines;
  // Another node may have the place of this one in the group by now.
  const member = await db.epochMember.findFirst({ where: { run, epoch, nodeId }, select: { rank: true } });
  if (member === null) return null;
  const holder = await db.epochMember.findUnique({
    where: { run_epoch_rank: { run, epoch: last.epoch, rank: member.rank } },
  });
  return holder === null || holder.nodeId === nodeId ? lines : null;
}

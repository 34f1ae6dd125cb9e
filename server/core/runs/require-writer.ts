import { Fault } from "#protocol/faults/fault.ts";
import type { Transaction } from "#prisma/open.ts";
import { isOfEpoch } from "./is-writer.ts";
import { linesAfter } from "./lines-after.ts";

type Db = Pick<Transaction, "epoch" | "epochMember" | "node">;

interface Claimed {
  run: string;
  epoch: number;
  nodeId: string;
}

/** @throws Fault HISTORY_UNREAD */
async function currentOf(tx: Db, run: string) {
  const current = await tx.epoch.findFirst({
    where: { run },
    orderBy: { epoch: "desc" },
    include: { runRow: { select: { highestSeen: true } } },
  });
  if (current !== null && current.runRow.highestSeen === null) throw new Fault("HISTORY_UNREAD", { subject: run });
  return current;
}

type Current = Awaited<ReturnType<typeof currentOf>>;

const overFor = ({ run, epoch }: Claimed, current: Current): Fault => {
  const detail = current === null ? "no epoch was claimed" : `epoch ${epoch}, now ${current.epoch}`;
  return new Fault("EPOCH_OVER", { subject: run, detail });
};

/** @throws Fault EPOCH_OVER, NODE_REVOKED */
async function requireKnown(tx: Db, { run, nodeId }: Claimed, current: NonNullable<Current>): Promise<void> {
  // The bucket has a later epoch that the database lacks.
  if (current.epoch < (current.runRow.highestSeen ?? 0)) throw new Fault("EPOCH_OVER", { subject: run });
  // The node may have been revoked since its call was admitted.
  const node = await tx.node.findUnique({ where: { id: nodeId }, select: { revokedAt: true } });
  if (node?.revokedAt !== null) throw new Fault("NODE_REVOKED");
}

/**
 * Checks that a node writes a run now: it holds the latest epoch, alone or in its group, and writes under that epoch. After a part
 * of the database was lost, no node may write before the bucket was searched for later epochs. @throws Fault EPOCH_OVER,
 * NODE_REVOKED, HISTORY_UNREAD
 */
export async function requireWriter(tx: Db, claim: Claimed): Promise<void> {
  const current = await currentOf(tx, claim.run);
  if (current === null || current.epoch !== claim.epoch || !(await isOfEpoch(tx, current, claim.nodeId)))
    throw overFor(claim, current);
  await requireKnown(tx, claim, current);
}

/**
 * Checks that a node may send a checkpoint of an epoch: it writes the run under that epoch now, or did so until its own program, or
 * that of its group, began a new line. Captures from before that are still the newest of their line. @throws Fault EPOCH_OVER,
 * NODE_REVOKED, HISTORY_UNREAD
 */
export async function requireSender(tx: Db, claim: Claimed): Promise<void> {
  const current = await currentOf(tx, claim.run);
  if (current === null || current.epoch <= claim.epoch) return requireWriter(tx, claim);
  if ((await linesAfter(tx, claim)) === null) throw overFor(claim, current);
  await requireKnown(tx, claim, current);
}

import { stepText } from "#protocol/checkpoint/step-words.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { EarlierLine } from "#protocol/wire/hello.ts";
import type { Transaction } from "#prisma/open.ts";
import { linesAfter } from "../runs/lines-after.ts";
import { originOf } from "../runs/origin-of.ts";
import { branchOfRow } from "../runs/passed-over.ts";

type Db = Pick<Transaction, "epoch" | "epochMember" | "checkpoint">;

/**
 * Returns what a node has to know to send a checkpoint of a line that its program has left since; null: the epoch is the present
 * one. A node of a group that has not seen its program begin anew may take a piece of the new line for one of the earlier.
 * @throws Fault EPOCH_OVER when other nodes of the group wrote this step in the new line, and none did in this one
 */
export async function earlierLine(
  db: Db,
  { run, epoch, nodeId, step }: { run: string; epoch: number; nodeId: string; step: number },
): Promise<EarlierLine | null> {
  const lines = await linesAfter(db, { run, epoch, nodeId });
  const [next] = lines ?? [];
  const branch = branchOfRow(next?.branch ?? null);
  if (next === undefined || branch === null) return null;
  if (next.groupOf !== null) {
    const countIn = (writerEpoch: number | { gt: number }) =>
      db.checkpoint.count({ where: { run, step: BigInt(step), writerEpoch, nodeId: { not: nodeId } } });
    if ((await countIn({ gt: epoch })) > 0 && (await countIn(epoch)) === 0) {
      const detail = `${stepText(step)} is written in the line that begins with epoch ${next.epoch}`;
      throw new Fault("EPOCH_OVER", { op: "announce", subject: run, detail });
    }
  }
  const own = await originOf(db, { run, epoch });
  return { parent: own.parent, ...(own.branch !== null && { branch: own.branch }), next: branch };
}

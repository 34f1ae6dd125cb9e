import { mayBecome, type CheckpointState } from "#protocol/checkpoint/checkpoint.ts";
import type { KeepRecord } from "#protocol/retention/keeping.ts";
import type { Transaction } from "#prisma/open.ts";
import { isAdoptedRow } from "../runs/is-adopted.ts";

/**
 * Stores a retention record from the bucket. The result does not depend on the order of the objects: a record that was ended
 * before it was read is stored as ended.
 */

const textOf = ({ word }: KeepRecord): string => {
  switch (word.kind) {
    case "tag":
      return word.tag;
    case "note":
      return word.text;
    case "trash":
      return word.why;
    case "pin":
    case "end":
      return "";
  }
};

/** Sets the state of a checkpoint to `trashed` or `complete`, by its trash records. An external checkpoint keeps its state. */
async function settleState(tx: Transaction, checkpointId: string): Promise<void> {
  const row = await tx.checkpoint.findUnique({
    where: { id: checkpointId },
    select: { state: true, writerEpoch: true },
  });
  if (row === null || isAdoptedRow(row)) return;
  const trash = await tx.keepRecord.count({ where: { checkpointId, kind: "trash", endedById: null } });
  const state: CheckpointState = trash > 0 ? "trashed" : "complete";
  const from = row.state as CheckpointState;
  const isOneOfThem = from === "trashed" || from === "complete";
  if (!isOneOfThem || from === state || !mayBecome(from, state)) return;
  await tx.checkpoint.update({ where: { id: checkpointId }, data: { state } });
}

/**
 * Stores a record if it is new, updates the state of its checkpoint, and returns whether it was new. `notBefore` (epoch ms):
 * the trash is not emptied earlier, whatever the record says.
 */
export async function takeRecord(
  tx: Transaction,
  record: KeepRecord,
  about: { key: string; notBefore?: number },
): Promise<boolean> {
  const { id, run, checkpointId, at, by, ends, word } = record;
  if ((await tx.keepRecord.findUnique({ where: { id } })) !== null) return false;
  const quoted = JSON.stringify(id);
  const ender = await tx.keepRecord.findFirst({ where: { run, ends: { contains: quoted } }, select: { id: true } });
  const until = word.kind === "trash" ? new Date(Math.max(word.until, about.notBefore ?? 0)) : null;
  await tx.keepRecord.create({
    data: {
      id,
      run,
      checkpointId,
      kind: word.kind,
      text: textOf(record),
      at: new Date(at),
      by,
      key: about.key,
      ends: JSON.stringify(ends),
      endedById: ender?.id ?? null,
      until,
    },
  });
  const taken = { run, id: { in: ends }, endedById: null };
  await tx.keepRecord.updateMany({ where: taken, data: { endedById: id } });
  await settleState(tx, checkpointId);
  return true;
}

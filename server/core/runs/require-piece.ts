import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { Transaction } from "#prisma/open.ts";

/**
 * Checks that a node commits only its own pieces of a run that several nodes write together, and never a joined manifest.
 * @throws Fault BAD_INPUT
 */
export async function requirePiece(
  db: Pick<Transaction, "epoch" | "epochMember">,
  { run, writerEpoch: epoch, piece, joined, doubt, role }: Manifest,
  nodeId: string,
): Promise<void> {
  const refuse = (detail: string) => new Fault("BAD_INPUT", { op: "commit", subject: "manifest", detail });
  if (joined !== undefined) throw refuse("the hub alone joins pieces");
  const row = await db.epoch.findUnique({ where: { run_epoch: { run, epoch } }, select: { groupOf: true } });
  const groupOf = row?.groupOf ?? null;
  if (piece === undefined) {
    if (groupOf !== null && role === undefined)
      throw refuse(`it is no piece, and ${groupOf} nodes write the run together`);
    return;
  }
  if (piece.of !== groupOf) throw refuse("it is a piece of a run that one node writes");
  if (doubt === undefined) throw refuse("a piece by itself is no whole checkpoint");
  const where = { run_epoch_rank: { run, epoch, rank: piece.rank } };
  if ((await db.epochMember.findUnique({ where }))?.nodeId !== nodeId) throw refuse("it is the piece of another node");
}

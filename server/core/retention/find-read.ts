import type { Database } from "#prisma/open.ts";
import { isEnded, type TransferState } from "#protocol/wire/transfer.ts";

const READING = ["download", "verify", "drill", "copy"];

/**
 * Checkpoints of a run that a node reads now or was asked to read, whether or not it has heard of it yet: a restore that waits
 * for its turn is a transfer from the beginning. Whatever takes a checkpoint away asks this first.
 */
export async function findRead(db: Pick<Database, "command" | "transfer">, run: string): Promise<Set<string>> {
  const orders = await db.command.findMany({
    where: { kind: "restore", endedAt: null, checkpointId: { not: null } },
    select: { checkpointId: true },
  });
  const transfers = await db.transfer.findMany({
    where: { run, direction: { in: READING }, endedAt: null },
    select: { checkpointId: true, state: true },
  });
  const going = transfers.filter(({ state }) => !isEnded(state as TransferState));
  return new Set([...orders, ...going].flatMap(({ checkpointId }) => checkpointId ?? []));
}

import type { Database } from "#prisma/open.ts";
import { isEnded, type TransferState } from "#protocol/wire/transfer.ts";

const READING = ["download", "verify", "drill", "copy"];

/**
 * Returns the checkpoints that a node reads or was asked to read, even if it has not received the command yet. A restore that
 * waits for its turn counts too: its transfer exists from the beginning. Call this before taking a checkpoint away.
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

import { MOVING_KINDS } from "#protocol/wire/commands.ts";
import type { Database } from "#prisma/open.ts";
import { isWriter } from "./is-writer.ts";

const ENDED = ["done", "failed", "cancelled", "superseded"];

/** Orders that a node reads a checkpoint for. */
export const READING_KINDS: readonly string[] = [...MOVING_KINDS, "preview"];

/**
 * Whether a node may read a checkpoint: somebody asked it to restore or to verify just that one and that has not ended, or
 * it writes the run now.
 */
export async function mayRead(
  db: Pick<Database, "command" | "transfer" | "epoch" | "epochMember">,
  node: { id: string },
  checkpoint: { id: string; run: string },
): Promise<boolean> {
  if ((await isWriter(db, checkpoint.run, node.id)) === true) return true;
  return hasOpenCommand(db, { nodeId: node.id, checkpointId: checkpoint.id, kinds: READING_KINDS });
}

/** Whether a node was asked to do one of these with a checkpoint, and has not ended it. */
export async function hasOpenCommand(
  db: Pick<Database, "command" | "transfer">,
  { nodeId, checkpointId, kinds }: { nodeId: string; checkpointId: string; kinds: readonly string[] },
): Promise<boolean> {
  const commands = await db.command.findMany({
    where: { nodeId, checkpointId, kind: { in: [...kinds] } },
    select: { endedAt: true, transferId: true },
  });
  if (commands.some(({ endedAt }) => endedAt === null)) return true;
  // A restore that failed and is tried again goes on under its first command.
  const ids = commands.map(({ transferId }) => transferId);
  const goingOn = { id: { in: ids }, nodeId, state: { notIn: ENDED } };
  return ids.length > 0 && (await db.transfer.count({ where: goingOn })) > 0;
}

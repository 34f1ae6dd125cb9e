import { MOVING_KINDS } from "#protocol/wire/commands.ts";
import type { Database } from "#prisma/open.ts";
import { isWriter } from "./is-writer.ts";

const ENDED = ["done", "failed", "cancelled", "superseded"];

/** Kinds of commands for which a node reads a checkpoint. */
export const READING_KINDS: readonly string[] = [...MOVING_KINDS, "preview"];

/**
 * Returns whether a node may read a checkpoint: it writes the run now, or has an open command to restore or verify just that
 * one.
 */
export async function mayRead(
  db: Pick<Database, "command" | "transfer" | "epoch" | "epochMember">,
  node: { id: string },
  checkpoint: { id: string; run: string },
): Promise<boolean> {
  if ((await isWriter(db, checkpoint.run, node.id)) === true) return true;
  return hasOpenCommand(db, { nodeId: node.id, checkpointId: checkpoint.id, kinds: READING_KINDS });
}

/** Returns whether a node has an open command of one of these kinds for a checkpoint. */
export async function hasOpenCommand(
  db: Pick<Database, "command" | "transfer">,
  { nodeId, checkpointId, kinds }: { nodeId: string; checkpointId: string; kinds: readonly string[] },
): Promise<boolean> {
  const commands = await db.command.findMany({
    where: { nodeId, checkpointId, kind: { in: [...kinds] } },
    select: { endedAt: true, transferId: true },
  });
  if (commands.some(({ endedAt }) => endedAt === null)) return true;
  // A retried restore continues under its first command, which has ended.
  const ids = commands.map(({ transferId }) => transferId);
  const goingOn = { id: { in: ids }, nodeId, state: { notIn: ENDED } };
  return ids.length > 0 && (await db.transfer.count({ where: goingOn })) > 0;
}

import { KEPT_NOWHERE, type CheckpointKeeping, type TrashState } from "#protocol/retention/keeping.ts";
import type { Transaction } from "#prisma/open.ts";
import type { KeepRecord } from "#prisma/client/client.ts";
import { storedFault } from "../events/event-row.ts";

export function trashStateOf(row: KeepRecord): TrashState {
  return {
    at: row.at.getTime(),
    by: row.by,
    why: row.text,
    until: (row.until ?? row.at).getTime(),
    isBeingDeleted: row.removingAt !== null,
    fault: storedFault(row.fault),
  };
}

/** Applies one retention record that is in force. Older records come first, so a newer note replaces an older one. */
function add(keeping: CheckpointKeeping, row: KeepRecord): CheckpointKeeping {
  switch (row.kind) {
    case "pin":
    case "unread":
      return { ...keeping, isPinned: true };
    case "tag":
      return keeping.tags.includes(row.text) ? keeping : { ...keeping, tags: [...keeping.tags, row.text] };
    case "note":
      return { ...keeping, note: row.text };
    case "trash":
      return { ...keeping, trash: trashStateOf(row) };
    default:
      return keeping;
  }
}

type Db = Pick<Transaction, "keepRecord">;

/** Returns the retention state of one checkpoint, or of each checkpoint of a run that has records. */
export async function findKeeping(
  db: Db,
  of: { checkpointId: string } | { run: string },
): Promise<Map<string, CheckpointKeeping>> {
  const where = { ...of, endedById: null, kind: { not: "end" } };
  const rows = await db.keepRecord.findMany({ where, orderBy: [{ at: "asc" }, { id: "asc" }] });
  const found = new Map<string, CheckpointKeeping>();
  for (const row of rows) found.set(row.checkpointId, add(found.get(row.checkpointId) ?? KEPT_NOWHERE, row));
  return found;
}

export const keepingOf = async (db: Db, checkpointId: string): Promise<CheckpointKeeping> =>
  (await findKeeping(db, { checkpointId })).get(checkpointId) ?? KEPT_NOWHERE;

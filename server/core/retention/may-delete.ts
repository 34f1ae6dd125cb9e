import type { Database } from "#prisma/open.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { DoubtView, HistoryFound } from "#protocol/wire/upkeep.ts";

/**
 * The one question that everything asks before it deletes anything in a bucket: is this hub's record whole? After a restore
 * from a backup or a rebuild from the bucket it is not, until all of the bucket has been listed and a person has said so.
 * Asked anew before each deletion: another process may have restored the database meanwhile.
 */

type Db = { db: Pick<Database, "doubt"> };

/** The doubt that nobody has confirmed away; null when there is none. */
export const openDoubt = ({ db }: Db) => db.doubt.findFirst({ where: { confirmedAt: null }, orderBy: { id: "desc" } });

export async function mayDelete(hub: Db): Promise<boolean> {
  return (await openDoubt(hub)) === null;
}

/** @throws Fault DELETIONS_OFF */
export async function requireMayDelete(hub: Db): Promise<void> {
  if (!(await mayDelete(hub))) throw new Fault("DELETIONS_OFF");
}

/** The open doubt as people see it. */
export async function doubtView(hub: Db): Promise<DoubtView | null> {
  const row = await openDoubt(hub);
  if (row === null) return null;
  return {
    kind: row.kind === "rebuilt" ? "rebuilt" : "restored",
    at: row.at.getTime(),
    asOf: row.asOf?.getTime() ?? null,
    listedAt: row.listedAt?.getTime() ?? null,
    // Written by this hub and only shown.
    found: row.found === null ? null : (JSON.parse(row.found) as HistoryFound),
  };
}

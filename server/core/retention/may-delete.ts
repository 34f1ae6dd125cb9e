import type { Database } from "#prisma/open.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { DoubtView, HistoryFound } from "#protocol/wire/upkeep.ts";

/**
 * Guards every deletion in a bucket: is this hub's database complete? A restore from a backup or a rebuild from the bucket
 * opens a doubt. It closes when all of the bucket has been listed and a person has confirmed it. Asked anew before each
 * deletion, because another process may have restored the database meanwhile.
 */

type Db = { db: Pick<Database, "doubt"> };

/** Returns the latest doubt that nobody has confirmed; null when there is none. */
export const openDoubt = ({ db }: Db) => db.doubt.findFirst({ where: { confirmedAt: null }, orderBy: { id: "desc" } });

export async function mayDelete(hub: Db): Promise<boolean> {
  return (await openDoubt(hub)) === null;
}

/** Refuses deletions while a doubt is open. @throws Fault DELETIONS_OFF */
export async function requireMayDelete(hub: Db): Promise<void> {
  if (!(await mayDelete(hub))) throw new Fault("DELETIONS_OFF");
}

/** Returns the open doubt for the API. */
export async function doubtView(hub: Db): Promise<DoubtView | null> {
  const row = await openDoubt(hub);
  if (row === null) return null;
  return {
    kind: row.kind === "rebuilt" ? "rebuilt" : "restored",
    at: row.at.getTime(),
    asOf: row.asOf?.getTime() ?? null,
    listedAt: row.listedAt?.getTime() ?? null,
    // This hub wrote the value, and only shows it: no schema needed.
    found: row.found === null ? null : (JSON.parse(row.found) as HistoryFound),
  };
}

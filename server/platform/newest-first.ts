import { Fault } from "#protocol/faults/fault.ts";

/** Pages through lists, newest first; the cursor is the id of the last row. */

/** Returns the row of a cursor; null for the first page. @throws Fault NOT_FOUND when it was removed */
export async function rowAt<Row>(
  cursor: string | null,
  find: (id: string) => Promise<Row | null>,
): Promise<Row | null> {
  if (cursor === null) return null;
  const row = await find(cursor);
  if (row === null) throw new Fault("NOT_FOUND", { subject: "the page" });
  return row;
}

/** Returns the condition for rows after a row, by creation time and then id; for the first page, every row. */
export const olderThan = (after: { id: string; createdAt: Date } | null) =>
  after === null
    ? {}
    : { OR: [{ createdAt: { lt: after.createdAt } }, { createdAt: after.createdAt, id: { lt: after.id } }] };

export const NEWEST_FIRST = [{ createdAt: "desc" as const }, { id: "desc" as const }];

/** Returns a page of `limit` rows. `found` has one row more, which tells whether there is another page. */
export function pageOf<Found, Row extends { id: string }>(
  found: readonly Found[],
  { limit, show }: { limit: number; show: (row: Found) => Row },
): { rows: Row[]; nextCursor: string | null } {
  const rows = found.slice(0, limit).map(show);
  return { rows, nextCursor: found.length > limit ? (rows.at(-1)?.id ?? null) : null };
}

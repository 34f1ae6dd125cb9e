import { Fault } from "#protocol/faults/fault.ts";

/** Lists that are read page by page, newest first, with the id of the last row as the way to the next page. */

/** The row of a cursor; null for the first page. @throws Fault NOT_FOUND when it is gone */
export async function rowAt<Row>(
  cursor: string | null,
  find: (id: string) => Promise<Row | null>,
): Promise<Row | null> {
  if (cursor === null) return null;
  const row = await find(cursor);
  if (row === null) throw new Fault("NOT_FOUND", { subject: "the page" });
  return row;
}

/** What comes after a row, by the time it was made and then by its id; everything for the first page. */
export const olderThan = (after: { id: string; createdAt: Date } | null) =>
  after === null
    ? {}
    : { OR: [{ createdAt: { lt: after.createdAt } }, { createdAt: after.createdAt, id: { lt: after.id } }] };

export const NEWEST_FIRST = [{ createdAt: "desc" as const }, { id: "desc" as const }];

/** The page of `limit` rows out of one more, so that it is known whether there is another. */
export function pageOf<Found, Row extends { id: string }>(
  found: readonly Found[],
  { limit, show }: { limit: number; show: (row: Found) => Row },
): { rows: Row[]; nextCursor: string | null } {
  const rows = found.slice(0, limit).map(show);
  return { rows, nextCursor: found.length > limit ? (rows.at(-1)?.id ?? null) : null };
}

import type { BucketRow } from "./folder-pages.ts";
import type { Place } from "../use-place.ts";

export type Order = Pick<Place, "sort" | "order">;

/** The store's own order needs no sorting. */
export const isStoreOrder = ({ sort, order }: Order): boolean => sort === "name" && order === "";

/**
 * Rows in another order than the store's: the largest, the newest or the last name first, or the other way round. Folders whose size
 * or date nobody knows stand before the others either way.
 */
export function sortRows(
  rows: readonly BucketRow[],
  { sort, order }: Order,
  sizeOf: (folder: string) => number | null = () => null,
): BucketRow[] {
  const isFalling = (sort === "name") === (order === "reversed");
  const sign = isFalling ? -1 : 1;
  const byName = (a: BucketRow, b: BucketRow): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
  if (sort === "name") return rows.toSorted((a, b) => sign * byName(a, b));
  const valueOf = (row: BucketRow): number | null =>
    row.kind === "folder"
      ? sort === "size"
        ? sizeOf(row.key)
        : null
      : sort === "size"
        ? row.sizeBytes
        : row.modifiedAt;
  const values = new Map(rows.map((row) => [row.key, valueOf(row)]));
  return rows.toSorted((a, b) => {
    const [first, second] = [values.get(a.key) ?? null, values.get(b.key) ?? null];
    if (first === second) return byName(a, b);
    if (first === null || second === null) return first === null ? -1 : 1;
    return sign * (first - second);
  });
}

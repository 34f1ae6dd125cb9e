import type { BucketRow } from "./folder-pages.ts";
import type { Place } from "../use-place.ts";

export type Order = Pick<Place, "sort" | "order">;

/** Returns whether an order is the store's own, which needs no sorting. */
export const isStoreOrder = ({ sort, order }: Order): boolean => sort === "name" && order === "";

/** Sorts rows by size, date or name in either direction. Folders of unknown size or date come first in both directions. */
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

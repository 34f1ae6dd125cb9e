import type { BucketRow } from "./folder.ts";
import type { Sort } from "./use-place.ts";

/** Rows in another order than the store's: largest or newest first, folders (of which neither is known) before them. */
export function sortRows(rows: readonly BucketRow[], sort: Exclude<Sort, "name">): BucketRow[] {
  const by = (row: BucketRow): number =>
    row.kind === "folder" ? Number.POSITIVE_INFINITY : sort === "size" ? row.sizeBytes : row.modifiedAt;
  return rows.toSorted((a, b) => {
    const [first, second] = [by(a), by(b)];
    return first === second ? (a.key < b.key ? -1 : 1) : second > first ? 1 : -1;
  });
}

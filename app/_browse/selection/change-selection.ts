import type { BucketRow } from "../folder/folder-pages.ts";
import { MOST_CHOSEN, type Selection } from "./selection.ts";

const sizeOf = (row: BucketRow): number | null => (row.kind === "folder" ? null : row.sizeBytes);

/** Adds a row to the selection or removes it. */
export function toggle(selection: Selection, row: BucketRow, index: number): Selection {
  const chosen = new Map(selection.chosen);
  if (!chosen.delete(row.key) && chosen.size < MOST_CHOSEN) chosen.set(row.key, sizeOf(row));
  return { chosen, anchor: index };
}

/** Adds all rows from the anchor to `index` to the selection. Rows that are not in memory are left out. */
export function extend(selection: Selection, index: number, rowAt: (index: number) => BucketRow | null): Selection {
  const chosen = new Map(selection.chosen);
  const [from, to] = [Math.min(selection.anchor, index), Math.max(selection.anchor, index)];
  for (let at = from; at <= to && chosen.size < MOST_CHOSEN; at++) {
    const row = rowAt(at);
    if (row !== null) chosen.set(row.key, sizeOf(row));
  }
  return { chosen, anchor: selection.anchor };
}

import type { BucketRow } from "./folder.ts";

/** What is chosen in a list: by key, so that it stays while rows come and go. A folder stands for all that is below it. */

export interface Selection {
  /** Size of each object; null for a folder, whose size nobody knows yet. */
  chosen: ReadonlyMap<string, number | null>;
  /** Where a range begins. */
  anchor: number;
}

/** One plan takes no more single things; whoever wants more chooses their folder. */
export const MOST_CHOSEN = 5000;

export const NOTHING_CHOSEN: Selection = { chosen: new Map(), anchor: 0 };

const sizeOf = (row: BucketRow): number | null => (row.kind === "folder" ? null : row.sizeBytes);

/** One row more, or one less. */
export function toggle(selection: Selection, row: BucketRow, index: number): Selection {
  const chosen = new Map(selection.chosen);
  if (!chosen.delete(row.key) && chosen.size < MOST_CHOSEN) chosen.set(row.key, sizeOf(row));
  return { chosen, anchor: index };
}

/** Everything from the anchor to `index`, added to what is chosen. Rows that are not here are left out. */
export function extend(selection: Selection, index: number, rowAt: (index: number) => BucketRow | null): Selection {
  const chosen = new Map(selection.chosen);
  const [from, to] = [Math.min(selection.anchor, index), Math.max(selection.anchor, index)];
  for (let at = from; at <= to && chosen.size < MOST_CHOSEN; at++) {
    const row = rowAt(at);
    if (row !== null) chosen.set(row.key, sizeOf(row));
  }
  return { chosen, anchor: selection.anchor };
}

export interface Chosen {
  objects: number;
  bytes: number;
  folders: number;
}

export function countChosen({ chosen }: Selection): Chosen {
  const sum: Chosen = { objects: 0, bytes: 0, folders: 0 };
  for (const sizeBytes of chosen.values()) {
    if (sizeBytes === null) sum.folders++;
    else {
      sum.objects++;
      sum.bytes += sizeBytes;
    }
  }
  return sum;
}

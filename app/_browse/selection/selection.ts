/** Selects rows of a list by key, so that the selection survives changes of the list. A folder includes everything below it. */

export interface Selection {
  /** Size of each object; null for a folder, whose size is unknown. */
  chosen: ReadonlyMap<string, number | null>;
  /** Index at which a range selection starts. */
  anchor: number;
}

/** Most rows in a selection, the limit of one bucket job. Larger selections need their folder. */
export const MOST_CHOSEN = 5000;

export const NOTHING_CHOSEN: Selection = { chosen: new Map(), anchor: 0 };

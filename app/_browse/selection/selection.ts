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

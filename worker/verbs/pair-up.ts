import type { Entry, Side } from "./entries.ts";

/** Two sides laid beside each other by name. */
export interface Paired {
  both: { from: Entry; to: Entry }[];
  /** What the filters take of SRC and DST lacks. */
  onlyFrom: Entry[];
  /** What the filters take of DST and SRC does not have at all, not even among what the filters leave out. */
  onlyTo: Entry[];
}

export function pairUp(from: Side, to: Side): Paired {
  const both: Paired["both"] = [];
  const onlyFrom: Entry[] = [];
  for (const entry of from.taken) {
    const twin = to.all.get(entry.relative);
    if (twin === undefined) onlyFrom.push(entry);
    else both.push({ from: entry, to: twin });
  }
  return { both, onlyFrom, onlyTo: to.taken.filter(({ relative }) => !from.all.has(relative)) };
}

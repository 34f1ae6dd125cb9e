import { beside } from "./beside.ts";
import type { Side } from "./entries.ts";
import type { Entry } from "./entry.ts";

export interface Pair {
  from: Entry;
  to: Entry;
}

/** Two sides laid beside each other by name, each part as often as it is gone through. */
export interface Paired {
  both: Iterable<Pair>;
  /** What the filters take of SRC and DST lacks. */
  onlyFrom: Iterable<Entry>;
  /** What the filters take of DST and SRC does not have at all, not even among what the filters leave out. */
  onlyTo: Iterable<Entry>;
}

export const pairUp = (from: Side, to: Side): Paired => ({
  both: again(function* () {
    for (const [entry, twin] of beside(from.taken, to.all)) if (twin !== null) yield { from: entry, to: twin };
  }),
  onlyFrom: again(() => lacking(from.taken, to.all)),
  onlyTo: again(() => lacking(to.taken, from.all)),
});

function* lacking(entries: Iterable<Entry>, others: Iterable<Entry>): Generator<Entry> {
  for (const [entry, twin] of beside(entries, others)) if (twin === null) yield entry;
}

const again = <T>(begin: () => Iterator<T>): Iterable<T> => ({ [Symbol.iterator]: begin });

import { beside } from "./beside.ts";
import type { Side } from "./entries.ts";
import type { Entry } from "./entry.ts";

export interface Pair {
  from: Entry;
  to: Entry;
}

/** The entries of two sides matched by name. Each list may be iterated repeatedly. */
export interface Paired {
  both: Iterable<Pair>;
  /** Entries of SRC that the filter accepts and DST lacks. */
  onlyFrom: Iterable<Entry>;
  /** Entries of DST that the filter accepts and SRC lacks, even among entries that the filter rejects. */
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

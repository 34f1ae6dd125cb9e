interface Identified {
  id: string;
}

/**
 * Sorts a list that is sorted again and again: from the order it had last, as of thousands few have moved since. Costs about
 * one comparison per row, where sorting from any order costs a dozen.
 */
export function createSorter<Row extends Identified>(): (
  rows: readonly Row[],
  compare: (a: Row, b: Row) => number,
) => Row[] {
  let last: readonly string[] = [];
  return (rows, compare) => {
    const rest = new Map(rows.map((row) => [row.id, row]));
    const begun: Row[] = [];
    for (const id of last) {
      const row = rest.get(id);
      if (row === undefined) continue;
      begun.push(row);
      rest.delete(id);
    }
    const sorted = [...begun, ...rest.values()].sort(compare);
    last = sorted.map(({ id }) => id);
    return sorted;
  };
}

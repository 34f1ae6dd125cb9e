/**
 * Returns the rows with the first `most` by `compare` in front, sorted; the rest follows unsorted. It costs about one
 * comparison per row, where sorting all rows costs a dozen.
 */
export function firstOf<Row>(
  rows: readonly Row[],
  { most, compare }: { most: number; compare: (a: Row, b: Row) => number },
): Row[] {
  if (rows.length <= most) return rows.toSorted(compare);
  const first: Row[] = [];
  const rest: Row[] = [];
  for (const row of rows) {
    const last = first.at(-1);
    if (first.length === most && last !== undefined && compare(row, last) >= 0) {
      rest.push(row);
      continue;
    }
    let place = first.length;
    for (let before = first[place - 1]; before !== undefined && compare(row, before) < 0; before = first[place - 1])
      place--;
    first.splice(place, 0, row);
    const left = first.length > most ? first.pop() : undefined;
    if (left !== undefined) rest.push(left);
  }
  return [...first, ...rest];
}

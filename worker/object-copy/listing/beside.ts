/** Yields each row with the row of the same name in `others`, or null. Both lists must be sorted by name. */
export function* beside<T extends { relative: string }, U extends { relative: string }>(
  rows: Iterable<T>,
  others: Iterable<U>,
): Generator<[row: T, twin: U | null]> {
  const rest = others[Symbol.iterator]();
  let other = rest.next();
  for (const row of rows) {
    while (other.done !== true && other.value.relative < row.relative) other = rest.next();
    yield [row, other.done !== true && other.value.relative === row.relative ? other.value : null];
  }
}

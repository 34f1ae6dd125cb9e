/** A list, in an array or in a file. Access in ascending order costs least. */
export interface Rows<T> extends Iterable<T> {
  readonly length: number;
  at(index: number): T | undefined;
}

/** Maps rows lazily: a row is made each time it is read. */
export const mapRows = <T, U>(rows: Rows<T>, made: (row: T) => U): Rows<U> => ({
  length: rows.length,
  at: (index) => {
    const row = rows.at(index);
    return row === undefined ? undefined : made(row);
  },
  *[Symbol.iterator]() {
    for (const row of rows) yield made(row);
  },
});

/** Returns the rows at the given indexes, in that order. */
export const pickRows = <T>(rows: Rows<T>, places: readonly number[]): Rows<T> => {
  const at = (index: number) => {
    const place = places[index];
    return place === undefined ? undefined : rows.at(place);
  };
  return {
    length: places.length,
    at,
    *[Symbol.iterator]() {
      for (const place of places) {
        const row = rows.at(place);
        if (row !== undefined) yield row;
      }
    },
  };
};

/** Returns the indexes of the rows that match. */
export function placesOf<T>(rows: Rows<T>, isMeant: (row: T) => boolean): number[] {
  const places: number[] = [];
  for (const [index, row] of numbered(rows)) if (isMeant(row)) places.push(index);
  return places;
}

/** Yields rows with their indexes. */
export function* numbered<T>(rows: Iterable<T>): Generator<readonly [index: number, row: T]> {
  let index = 0;
  for (const row of rows) yield [index++, row];
}

/** Yields rows in chunks of `count`, the last one shorter. */
export function* stretchesOf<T>(rows: Iterable<T>, count: number): Generator<T[]> {
  let stretch: T[] = [];
  for (const row of rows) {
    stretch.push(row);
    if (stretch.length < count) continue;
    yield stretch;
    stretch = [];
  }
  if (stretch.length > 0) yield stretch;
}

/** A list, whatever holds it: an array is one, and so is what lies in a file. Asked for one after the other it costs least. */
export interface Rows<T> extends Iterable<T> {
  readonly length: number;
  at(index: number): T | undefined;
}

/** Each made out of another when it is looked at, and as often as that is. */
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

/** Those at some of the places, in that order. */
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

/** Where those are that are meant. */
export function placesOf<T>(rows: Rows<T>, isMeant: (row: T) => boolean): number[] {
  const places: number[] = [];
  for (const [index, row] of numbered(rows)) if (isMeant(row)) places.push(index);
  return places;
}

/** With their places. */
export function* numbered<T>(rows: Iterable<T>): Generator<readonly [index: number, row: T]> {
  let index = 0;
  for (const row of rows) yield [index++, row];
}

/** In stretches of so many, the last one shorter. */
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

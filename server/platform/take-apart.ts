/**
 * Cuts a value into pieces for transfer between threads. The receiver deserializes each message at once, so a large one would
 * block its event loop.
 */

export interface Apart {
  /** The value with its long lists empty. */
  rest: unknown;
  /** Paths and pieces of the lists, in order. */
  lists: { path: string[]; pieces: unknown[][] }[];
}

const LONG = 500;
/** Weight of a piece: its elements, plus the elements of lists inside them. */
const PIECE_WEIGHT = 1_000;
const DEEPEST = 3;

const weightOf = (element: unknown): number =>
  typeof element === "object" && element !== null
    ? 1 + Object.values(element).reduce<number>((sum, inner) => sum + (Array.isArray(inner) ? inner.length : 0), 0)
    : 1;

function cut(list: readonly unknown[]): unknown[][] {
  const pieces: unknown[][] = [];
  let piece: unknown[] = [];
  let weight = 0;
  for (const element of list) {
    piece.push(element);
    weight += weightOf(element);
    if (weight < PIECE_WEIGHT) continue;
    pieces.push(piece);
    [piece, weight] = [[], 0];
  }
  return piece.length > 0 ? [...pieces, piece] : pieces;
}

/** Takes the long lists out of a value; copies the parts that change. */
export function takeApart(value: unknown): Apart {
  const lists: Apart["lists"] = [];
  const walk = (inner: unknown, path: string[]): unknown => {
    if (Array.isArray(inner)) {
      if (inner.length <= LONG) return inner;
      lists.push({ path, pieces: cut(inner) });
      return [];
    }
    if (typeof inner !== "object" || inner === null || path.length >= DEEPEST) return inner;
    return Object.fromEntries(Object.entries(inner).map(([name, below]) => [name, walk(below, [...path, name])]));
  };
  return { rest: walk(value, []), lists };
}

/** Appends a piece to its list. */
export function putBack(rest: unknown, path: readonly string[], piece: readonly unknown[]): void {
  let at = rest;
  for (const name of path) at = typeof at === "object" && at !== null ? Reflect.get(at, name) : undefined;
  if (Array.isArray(at)) for (const element of piece) at.push(element);
}

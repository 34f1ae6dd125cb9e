import { createPauses } from "./pauses.ts";

/**
 * Writes JSON as `JSON.stringify` does, in pieces of a few hundred rows. One call for an answer of ten megabytes would block
 * the event loop for a tenth of a second. A small value comes in one piece. The input is plain values, with long lists at
 * most `DEEPEST` levels deep.
 */

const AT_ONCE = 100;
const DEEPEST = 4;

const isHolder = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Returns whether a nested list is long enough to be written in pieces. */
function holdsMany(value: unknown, depth = 0): boolean {
  if (!isHolder(value) || depth > DEEPEST) return false;
  if (Array.isArray(value)) {
    return value.length > AT_ONCE || value.some((inner) => holdsMany(inner, depth + 1));
  }
  return Object.values(value).some((inner) => holdsMany(inner, depth + 1));
}

const isWritten = (value: unknown): boolean => JSON.stringify(value) !== undefined;

function* piecesOfList(list: readonly unknown[], depth: number): Generator<string> {
  yield "[";
  for (let from = 0; from < list.length; from += AT_ONCE) {
    const some = list.slice(from, from + AT_ONCE);
    if (from > 0) yield ",";
    if (!some.some((one) => holdsMany(one, depth + 1))) {
      yield JSON.stringify(some).slice(1, -1);
      continue;
    }
    for (const [at, one] of some.entries()) {
      if (at > 0) yield ",";
      yield* jsonPieces(one, depth + 1);
    }
  }
  yield "]";
}

function* piecesOfObject(value: object, depth: number): Generator<string> {
  let separator = "{";
  for (const [name, inner] of Object.entries(value)) {
    if (!isHolder(inner) && !isWritten(inner)) continue;
    yield `${separator}${JSON.stringify(name)}:`;
    yield* jsonPieces(inner, depth + 1);
    separator = ",";
  }
  yield separator === "{" ? "{}" : "}";
}

/** Returns the JSON text of a value of any size, written in slices. */
export async function writeJson(value: unknown): Promise<string> {
  const pauses = createPauses();
  const pieces: string[] = [];
  for (const piece of jsonPieces(value)) {
    pieces.push(piece);
    if (pauses.isDue()) await pauses.take();
  }
  return pieces.join("");
}

/** Yields the JSON text of a value piece by piece; a value that JSON cannot represent becomes `null`. */
export function* jsonPieces(value: unknown, depth = 0): Generator<string> {
  if (!holdsMany(value, depth) || !isHolder(value) || "toJSON" in value) yield JSON.stringify(value) ?? "null";
  else if (Array.isArray(value)) yield* piecesOfList(value, depth);
  else yield* piecesOfObject(value, depth);
}

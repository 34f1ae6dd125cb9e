/**
 * Why: a listing page must cost what the page holds, not what the bucket holds. Promise: visits at most one row per
 * entry and one more; a common prefix is left by seeking past it, however many keys lie under it.
 */

/** Where to continue in key order. `uploadId` refines `after` among uploads of one key. */
export type Seek = { readonly key: string; readonly mode: "at" | "after"; readonly uploadId?: string };

/** One walk over an ordered set of rows. An empty delimiter means none. */
export type Walk<Row> = {
  readonly prefix: string;
  readonly delimiter: string;
  readonly limit: number;
  readonly start: Seek | undefined;
  /** Rows from the position on, in key order, read lazily. */
  readonly scan: (seek: Seek) => Iterable<Row>;
  readonly keyOf: (row: Row) => string;
};

/** One line of a listing: a row, or a prefix that stands for all rows under it. */
export type WalkEntry<Row> =
  | { readonly kind: "row"; readonly row: Row }
  | { readonly kind: "prefix"; readonly prefix: string };

/** A page, whether more follows, and how many rows were looked at for it. */
export type WalkPage<Row> = {
  readonly entries: readonly WalkEntry<Row>[];
  readonly truncated: "more" | "end";
  readonly rowsVisited: number;
};

/** The smallest text that sorts (by code point) after every text starting with `prefix`; undefined when none does. */
export function afterPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    if (last >= 0x10ffff) continue;
    const next = last === 0xd7ff ? 0xe000 : last + 1;
    return String.fromCodePoint(...points, next);
  }
  return undefined;
}

/** Reads one page. Keys must sort by code point, which is the order of their UTF-8 bytes. */
export function walkKeys<Row>(walk: Walk<Row>): WalkPage<Row> {
  const entries: WalkEntry<Row>[] = [];
  let rowsVisited = 0;
  let seek: Seek | undefined = walk.start ?? { key: walk.prefix, mode: "at" };
  if (walk.start !== undefined && !walk.start.key.startsWith(walk.prefix)) {
    seek = later(walk.start, walk.prefix);
  }
  if (walk.limit === 0) return { entries, truncated: "end", rowsVisited };
  while (seek !== undefined) {
    const from: Seek = seek;
    seek = undefined;
    for (const row of walk.scan(from)) {
      rowsVisited += 1;
      const key = walk.keyOf(row);
      if (!key.startsWith(walk.prefix)) break;
      if (entries.length === walk.limit) return { entries, truncated: "more", rowsVisited };
      const found = walk.delimiter === "" ? -1 : key.indexOf(walk.delimiter, walk.prefix.length);
      if (found < 0) {
        entries.push({ kind: "row", row });
        continue;
      }
      const prefix = key.slice(0, found + walk.delimiter.length);
      entries.push({ kind: "prefix", prefix });
      const next = afterPrefix(prefix);
      seek = next === undefined ? undefined : { key: next, mode: "at" };
      break;
    }
  }
  return { entries, truncated: "end", rowsVisited };
}

/** A start before the prefix begins at the prefix; one behind it stays where it is and finds nothing. */
function later(start: Seek, prefix: string): Seek {
  return Buffer.compare(Buffer.from(start.key), Buffer.from(prefix)) < 0 ? { key: prefix, mode: "at" } : start;
}

/**
 * Reads listing pages at a cost that depends on the page, not on the bucket. Visits at most one row per entry and one
 * more: a common prefix is skipped by seeking past it, whatever the number of keys below it.
 */

/** Position in key order. `uploadId` refines `after` among rows of one key. */
export type Seek = { readonly key: string; readonly mode: "at" | "after"; readonly uploadId?: string };

/** One walk over ordered rows. An empty delimiter means none. */
export type Walk<Row> = {
  readonly prefix: string;
  readonly delimiter: string;
  readonly limit: number;
  readonly start: Seek | undefined;
  /** Returns the rows from a position on, in key order, read lazily. */
  readonly scan: (seek: Seek) => Iterable<Row>;
  readonly keyOf: (row: Row) => string;
};

/** One entry of a listing: a row, or a common prefix of several rows. */
export type WalkEntry<Row> =
  | { readonly kind: "row"; readonly row: Row }
  | { readonly kind: "prefix"; readonly prefix: string };

/** A page, whether more entries follow, and the number of rows visited. */
export type WalkPage<Row> = {
  readonly entries: readonly WalkEntry<Row>[];
  readonly truncated: "more" | "end";
  readonly rowsVisited: number;
};

/** Returns the smallest text that sorts (by code point) after every text starting with `prefix`; undefined if there is none. */
export function afterPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    if (last >= 0x10ffff) continue;
    const next = last === 0xd7ff ? 0xe000 : last + 1;
    return String.fromCodePoint(...points, next);
  }
  return undefined;
}

/** Reads one page. Keys must be sorted by code point, which is the order of their UTF-8 bytes. */
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

/** Moves a start before the prefix to the prefix. A start behind the prefix stays, and the walk finds nothing. */
function later(start: Seek, prefix: string): Seek {
  return Buffer.compare(Buffer.from(start.key), Buffer.from(prefix)) < 0 ? { key: prefix, mode: "at" } : start;
}

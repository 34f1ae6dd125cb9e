import type { BucketObject, FolderPage } from "#protocol/buckets/bucket.ts";

/**
 * Caches the listed pages of a folder: rows by index, in the order of arrival. Pages far from the visible rows drop their rows
 * but keep their count.
 */

export type BucketRow = ({ kind: "object" } & BucketObject) | { kind: "folder"; key: string };

/** Position at which a page of the listing starts. */
export interface PageStart {
  cursor: string | null;
  /** Key after which the page starts. Used when the cursor has expired. */
  after: string | null;
}

interface Page extends PageStart {
  count: number;
  /** Null when dropped from memory. */
  rows: readonly BucketRow[] | null;
}

const MOST_HELD_PAGES = 40;

const byKey = (a: BucketRow, b: BucketRow): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

/** Returns folders and objects of one page sorted together by key. */
export const rowsOf = (page: FolderPage): BucketRow[] =>
  [
    ...page.folders.map((key): BucketRow => ({ kind: "folder", key })),
    ...page.objects.map((object): BucketRow => ({ kind: "object", ...object })),
  ].sort(byKey);

/** Returns a text that sorts after everything in this row and before the next row. */
const after = (row: BucketRow): string => (row.kind === "folder" ? `${row.key}\u{10ffff}` : row.key);

/**
 * Holds the pages of one folder. Rows never change their index; objects that appear or vanish after a page was listed are
 * ignored.
 */
export class FolderPages {
  readonly #pages: Page[] = [];
  /** Start of the page after the last known one; null when there is none. */
  #next: PageStart | null = { cursor: null, after: null };

  /** True when no page follows the known ones. */
  get isComplete(): boolean {
    return this.#next === null;
  }

  /** True when the rows of all known pages are in memory. */
  get isWhole(): boolean {
    return this.#pages.every(({ rows }) => rows !== null);
  }

  /** Returns the row at an index; null when it is unknown or not in memory. */
  rowAt(index: number): BucketRow | null {
    const found = this.#place(index);
    return found === null ? null : (this.#pages[found.page]?.rows?.[found.at] ?? null);
  }

  /** Returns where page `number` starts, which may be the page after the last known one; null beyond the end. */
  startOf(number: number): PageStart | null {
    return this.#pages[number] ?? this.#next;
  }

  /** Returns the first page without rows in memory between row `first` and row `end` (exclusive); null when there is none. */
  firstLetGo(first: number, end: number): number | null {
    const [top, bottom] = [this.#place(first), this.#place(Math.max(first, end - 1))];
    for (let number = top?.page ?? this.#pages.length; number <= (bottom?.page ?? this.#pages.length - 1); number++) {
      if (this.#pages[number]?.rows === null) return number;
    }
    return null;
  }

  /** Number of the page after the last known one. */
  get nextNumber(): number {
    return this.#pages.length;
  }

  /** Stores a listed page. Returns how many rows are new. */
  put(number: number, page: FolderPage): number {
    const rows = rowsOf(page);
    const known = this.#pages[number];
    if (known !== undefined) {
      known.rows = rows.slice(0, known.count);
      this.#letGo(number);
      return 0;
    }
    const start = this.#next ?? { cursor: null, after: null };
    this.#pages.push({ ...start, count: rows.length, rows });
    const last = rows.at(-1);
    this.#next =
      page.nextCursor === null
        ? null
        : { cursor: page.nextCursor, after: last === undefined ? start.after : after(last) };
    this.#letGo(number);
    return rows.length;
  }

  #place(index: number): { page: number; at: number } | null {
    let start = 0;
    for (const [number, { count }] of this.#pages.entries()) {
      if (index < start + count) return { page: number, at: index - start };
      start += count;
    }
    return null;
  }

  /** Drops the rows of the pages farthest from page `here`. */
  #letGo(here: number): void {
    const held = [...this.#pages.entries()].filter(([, { rows }]) => rows !== null);
    if (held.length <= MOST_HELD_PAGES) return;
    held.sort(([a], [b]) => Math.abs(b - here) - Math.abs(a - here));
    for (const [, page] of held.slice(0, held.length - MOST_HELD_PAGES)) page.rows = null;
  }
}

import type { BucketObject, FolderPage } from "#protocol/buckets/bucket.ts";

/**
 * The pages of a folder that were listed: rows by number, in the order they came. Pages far away from where somebody looks let
 * go of their rows and keep their place.
 */

export type BucketRow = ({ kind: "object" } & BucketObject) | { kind: "folder"; key: string };

/** Where a page is asked for. */
export interface PageStart {
  cursor: string | null;
  /** Position behind the last row of the page before, for when the cursor has expired. */
  after: string | null;
}

interface Page extends PageStart {
  count: number;
  /** Null while it is let go. */
  rows: readonly BucketRow[] | null;
}

const MOST_HELD_PAGES = 40;

const byKey = (a: BucketRow, b: BucketRow): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

/** Folders and objects of one page in one order. */
export const rowsOf = (page: FolderPage): BucketRow[] =>
  [
    ...page.folders.map((key): BucketRow => ({ kind: "folder", key })),
    ...page.objects.map((object): BucketRow => ({ kind: "object", ...object })),
  ].sort(byKey);

/** A text after everything in this row, and before what follows it. */
const after = (row: BucketRow): string => (row.kind === "folder" ? `${row.key}\u{10ffff}` : row.key);

/** Keeps the pages of one folder. Rows never move: what came or went since a page was listed changes no place. */
export class FolderPages {
  readonly #pages: Page[] = [];
  /** Where the page after the last known one begins; null when there is none. */
  #next: PageStart | null = { cursor: null, after: null };

  /** Nothing more follows the pages that are known. */
  get isComplete(): boolean {
    return this.#next === null;
  }

  /** All rows known are held. */
  get isWhole(): boolean {
    return this.#pages.every(({ rows }) => rows !== null);
  }

  /** Returns the row of a number; null where it is not known or not held. */
  rowAt(index: number): BucketRow | null {
    const found = this.#place(index);
    return found === null ? null : (this.#pages[found.page]?.rows?.[found.at] ?? null);
  }

  /** Returns where the page of a number begins; null for the one after the last. */
  startOf(number: number): PageStart | null {
    return this.#pages[number] ?? this.#next;
  }

  /** Returns the first page that is not held among the rows from `first` to before `end`; null when all are. */
  firstLetGo(first: number, end: number): number | null {
    const [top, bottom] = [this.#place(first), this.#place(Math.max(first, end - 1))];
    for (let number = top?.page ?? this.#pages.length; number <= (bottom?.page ?? this.#pages.length - 1); number++) {
      if (this.#pages[number]?.rows === null) return number;
    }
    return null;
  }

  /** Returns the number of the page after the last known one. */
  get nextNumber(): number {
    return this.#pages.length;
  }

  /** Takes a page that was listed. Returns how many rows are new. */
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

  /** Lets go of what is furthest from the page that has just come. */
  #letGo(here: number): void {
    const held = [...this.#pages.entries()].filter(([, { rows }]) => rows !== null);
    if (held.length <= MOST_HELD_PAGES) return;
    held.sort(([a], [b]) => Math.abs(b - here) - Math.abs(a - here));
    for (const [, page] of held.slice(0, held.length - MOST_HELD_PAGES)) page.rows = null;
  }
}

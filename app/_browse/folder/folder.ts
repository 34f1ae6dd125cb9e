import type { BucketObject, FolderPage } from "#protocol/buckets/bucket.ts";
import type { FaultData } from "#protocol/faults/fault.ts";
import { faultOf } from "../../_hub/faults/fault-of.ts";

/**
 * A folder of any size as the pages hold it: rows by number, in the order they came, so that none ever moves. Pages are asked
 * for one after another as somebody goes down; of those far away only their place is kept, and they are asked for again when
 * somebody comes back. So a million keys take the memory of some tens of thousands.
 */

export type BucketRow = ({ kind: "object" } & BucketObject) | { kind: "folder"; key: string };

interface Page {
  /** How it was asked for. */
  cursor: string | null;
  /** What it came after, for when its cursor is over. */
  after: string | null;
  count: number;
  /** Null while it is let go. */
  rows: readonly BucketRow[] | null;
}

export interface FolderState {
  /** Rows whose place is known. */
  count: number;
  /** Nothing more follows. */
  isComplete: boolean;
  isLoading: boolean;
  fault: FaultData | null;
  /** Rows of objects, and their bytes. */
  objects: number;
  bytes: number;
  /** Names that are not valid UTF-8, which have no row. */
  unreadable: readonly string[];
  /** All rows known are held, so they can be put in another order. */
  isWhole: boolean;
  /** Null: not here at the moment; asked for with `need`. Another function whenever another row may come of it. */
  rowAt: (index: number) => BucketRow | null;
}

export interface Folder {
  subscribe: (listener: () => void) => () => void;
  state: () => FolderState;
  /** Rows from `first` on until `end` are looked at. */
  need: (first: number, end: number) => void;
  /** Tries again what failed. */
  retry: () => void;
  close: () => void;
}

export interface Asked {
  cursor: string | null;
  startAfter: string | null;
  limit: number;
  signal: AbortSignal;
}

/** The first page is short, so that it is there at once. */
const FIRST_ROWS = 200;
const PAGE_ROWS = 1000;
/** Rows below those looked at that are fetched ahead. */
const AHEAD = 300;
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

export function createFolder(list: (asked: Asked) => Promise<FolderPage>): Folder {
  const pages: Page[] = [];
  const listeners = new Set<() => void>();
  let closing = new AbortController();
  let next: { cursor: string | null; after: string | null } | null = { cursor: null, after: null };
  let loading: number | null = null;
  let wanted = { first: 0, end: 1 };
  const place = (index: number): { page: number; at: number } | null => {
    let start = 0;
    for (const [number, { count }] of pages.entries()) {
      if (index < start + count) return { page: number, at: index - start };
      start += count;
    }
    return null;
  };

  const rowAt = (index: number): BucketRow | null => {
    const found = place(index);
    return found === null ? null : (pages[found.page]?.rows?.[found.at] ?? null);
  };

  let state: FolderState = {
    count: 0,
    isComplete: false,
    isLoading: false,
    fault: null,
    objects: 0,
    bytes: 0,
    unreadable: [],
    isWhole: true,
    rowAt,
  };

  const change = (to: Partial<FolderState>): void => {
    state = { ...state, isWhole: pages.every(({ rows }) => rows !== null), ...to };
    state.rowAt = (index) => rowAt(index);
    for (const listener of listeners) listener();
  };

  /** The page to fetch now for what is looked at; null when all of it is here. */
  const missing = (): number | null => {
    const [top, bottom] = [place(wanted.first), place(Math.max(wanted.first, wanted.end - 1))];
    for (let number = top?.page ?? pages.length; number <= (bottom?.page ?? pages.length - 1); number++) {
      if (pages[number]?.rows === null) return number;
    }
    return next !== null && wanted.end + AHEAD > state.count ? pages.length : null;
  };

  /** Lets go of what is furthest from the page that has just come. */
  const letGo = (here: number): void => {
    const held = [...pages.entries()].filter(([, { rows }]) => rows !== null);
    if (held.length <= MOST_HELD_PAGES) return;
    held.sort(([a], [b]) => Math.abs(b - here) - Math.abs(a - here));
    for (const [, page] of held.slice(0, held.length - MOST_HELD_PAGES)) page.rows = null;
  };

  const ask = async (at: { cursor: string | null; after: string | null }, limit: number): Promise<FolderPage> => {
    const { signal } = closing;
    try {
      return await list({ cursor: at.cursor, startAfter: null, limit, signal });
    } catch (error) {
      if (faultOf(error).code !== "LISTING_OVER" || at.after === null) throw error;
      // The hub was started anew meanwhile: from the last key on.
      return list({ cursor: null, startAfter: at.after, limit, signal });
    }
  };

  const load = async (number: number): Promise<void> => {
    const known = pages[number];
    const at = known ?? next;
    if (at === null) return;
    const limit = number === 0 ? FIRST_ROWS : PAGE_ROWS;
    const page = await ask(at, limit);
    const rows = rowsOf(page);
    if (known !== undefined) {
      // What came or went since changes no place: rows never move.
      known.rows = rows.slice(0, known.count);
      letGo(number);
      change({});
      return;
    }
    pages.push({ cursor: at.cursor, after: at.after, count: rows.length, rows });
    const last = rows.at(-1);
    next =
      page.nextCursor === null ? null : { cursor: page.nextCursor, after: last === undefined ? at.after : after(last) };
    letGo(number);
    change({
      count: state.count + rows.length,
      isComplete: next === null,
      objects: state.objects + page.objects.length,
      bytes: page.objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, state.bytes),
      unreadable: [...state.unreadable, ...page.unreadable],
    });
  };

  const run = (): void => {
    if (loading !== null || closing.signal.aborted || state.fault !== null) return;
    const number = missing();
    if (number === null) return;
    loading = number;
    const { signal } = closing;
    change({ isLoading: true });
    load(number)
      .then(
        () => null,
        (error: unknown) => faultOf(error),
      )
      .then((fault) => {
        loading = null;
        // What was given up is no fault.
        change({ isLoading: false, fault: signal.aborted ? null : fault });
        run();
      })
      .catch(() => undefined);
  };

  return {
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    state: () => state,
    need: (first, end) => {
      // Somebody looks again.
      if (closing.signal.aborted) closing = new AbortController();
      wanted = { first, end };
      run();
    },
    retry: () => {
      change({ fault: null });
      run();
    },
    close: () => closing.abort(),
  };
}

import type { FolderPage } from "#protocol/buckets/bucket.ts";
import type { FaultData } from "#protocol/faults/fault.ts";
import { faultOf } from "../../_hub/faults/fault-of.ts";
import { FolderPages, type BucketRow, type PageStart } from "./folder-pages.ts";

/**
 * A folder of any size as the pages hold it: rows by number, in the order they came, so that none ever moves. Pages are asked
 * for one after another as somebody goes down; of those far away only their place is kept, and they are asked for again when
 * somebody comes back. So a million keys take the memory of some tens of thousands.
 */

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

export function createFolder(list: (asked: Asked) => Promise<FolderPage>): Folder {
  const pages = new FolderPages();
  const listeners = new Set<() => void>();
  let closing = new AbortController();
  let loading: number | null = null;
  let wanted = { first: 0, end: 1 };

  let state: FolderState = {
    count: 0,
    isComplete: false,
    isLoading: false,
    fault: null,
    objects: 0,
    bytes: 0,
    unreadable: [],
    isWhole: true,
    rowAt: (index) => pages.rowAt(index),
  };

  const change = (to: Partial<FolderState>): void => {
    state = { ...state, isWhole: pages.isWhole, ...to };
    state.rowAt = (index) => pages.rowAt(index);
    for (const listener of listeners) listener();
  };

  /** The page to fetch now for what is looked at; null when all of it is here. */
  const missing = (): number | null =>
    pages.firstLetGo(wanted.first, wanted.end) ??
    (!pages.isComplete && wanted.end + AHEAD > state.count ? pages.nextNumber : null);

  const ask = async (at: PageStart, limit: number): Promise<FolderPage> => {
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
    const at = pages.startOf(number);
    if (at === null) return;
    const isKnown = number < pages.nextNumber;
    const page = await ask(at, number === 0 ? FIRST_ROWS : PAGE_ROWS);
    const added = pages.put(number, page);
    if (isKnown) return change({});
    change({
      count: state.count + added,
      isComplete: pages.isComplete,
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

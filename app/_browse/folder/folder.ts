import type { FolderPage } from "#protocol/buckets/bucket.ts";
import type { FaultData } from "#protocol/faults/fault.ts";
import { faultOf } from "../../_hub/faults/fault-of.ts";
import { FolderPages, type BucketRow, type PageStart } from "./folder-pages.ts";

/**
 * Lists a folder of any size: rows by index, in the order of arrival, so that no row moves. Pages are loaded one after another
 * while scrolling. Distant pages drop their rows and are loaded again on return. A million keys therefore take the memory of
 * tens of thousands.
 */

export interface FolderState {
  /** Number of known rows. */
  count: number;
  /** True when the listing has ended. */
  isComplete: boolean;
  isLoading: boolean;
  fault: FaultData | null;
  /** Number of objects listed; `bytes` is their total size. */
  objects: number;
  bytes: number;
  /** Names that are not valid UTF-8, which have no row. */
  unreadable: readonly string[];
  /** Number of names that the store listed again. */
  repeated: number;
  /** True when all known rows are in memory, so that they can be sorted. */
  isWhole: boolean;
  /** Returns the row at an index; null when it is not in memory, which `need` changes. Its identity changes with the rows. */
  rowAt: (index: number) => BucketRow | null;
}

export interface Folder {
  subscribe: (listener: () => void) => () => void;
  state: () => FolderState;
  /** Sets the visible rows, from `first` to `end` (exclusive). */
  need: (first: number, end: number) => void;
  /** Repeats the failed request. */
  retry: () => void;
  close: () => void;
}

export interface Asked {
  cursor: string | null;
  startAfter: string | null;
  limit: number;
  signal: AbortSignal;
}

/** Size of the first page, small so that it arrives fast. */
const FIRST_ROWS = 200;
const PAGE_ROWS = 1000;
/** Rows below the visible ones that are loaded in advance. */
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
    repeated: 0,
    isWhole: true,
    rowAt: (index) => pages.rowAt(index),
  };

  const change = (to: Partial<FolderState>): void => {
    state = { ...state, isWhole: pages.isWhole, ...to };
    state.rowAt = (index) => pages.rowAt(index);
    for (const listener of listeners) listener();
  };

  /** Returns the page to load next for the visible rows; null when all are in memory. */
  const missing = (): number | null =>
    pages.firstLetGo(wanted.first, wanted.end) ??
    (!pages.isComplete && wanted.end + AHEAD > state.count ? pages.nextNumber : null);

  const ask = async (at: PageStart, limit: number): Promise<FolderPage> => {
    const { signal } = closing;
    try {
      return await list({ cursor: at.cursor, startAfter: null, limit, signal });
    } catch (error) {
      if (faultOf(error).code !== "LISTING_OVER" || at.after === null) throw error;
      // The hub has restarted and lost the cursor: the listing continues after the last key.
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
      repeated: state.repeated + page.repeated,
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
        // An aborted request is no fault.
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
      // The folder is in use again after `close`.
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

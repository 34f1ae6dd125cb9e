import type { WalkPage } from "#protocol/buckets/bucket.ts";
import type { FaultData } from "#protocol/faults/fault.ts";
import { faultOf } from "../../_hub/faults/fault-of.ts";

/**
 * Sums of folders: a store knows none, so each is counted by listing all that is below it. Only folders that somebody looks at are
 * counted, two at a time, each once, and each only so far.
 */

export interface FolderSize {
  objects: number;
  bytes: number;
  /** `partial`: there is more, but it was counted far enough. */
  state: "counting" | "whole" | "partial" | "failed";
  fault: FaultData | null;
}

export interface FolderSizes {
  subscribe: (listener: () => void) => () => void;
  /** Another function whenever something has changed. */
  state: () => (folder: string) => FolderSize | null;
  /** The folders that are looked at now; those asked for before and not begun are left. */
  need: (folders: readonly string[]) => void;
  close: () => void;
}

export type WalkFolder = (asked: {
  prefix: string;
  cursor: string | null;
  signal: AbortSignal;
}) => Promise<Pick<WalkPage, "looked" | "nextCursor">>;

const AT_ONCE = 2;
/** 250 requests of a listing: a tenth of a cent at the usual prices. */
const MOST_OBJECTS = 250_000;

export function createFolderSizes(walk: WalkFolder): FolderSizes {
  const sizes = new Map<string, FolderSize>();
  const listeners = new Set<() => void>();
  let closing = new AbortController();
  let waiting: string[] = [];
  let running = 0;
  const read = (folder: string): FolderSize | null => sizes.get(folder) ?? null;
  let state = read;
  const put = (folder: string, size: FolderSize): void => {
    sizes.set(folder, size);
    state = (of) => read(of);
    for (const listener of listeners) listener();
  };
  const count = async (folder: string, signal: AbortSignal): Promise<void> => {
    let cursor: string | null = null;
    let sum: FolderSize = { objects: 0, bytes: 0, state: "counting", fault: null };
    put(folder, sum);
    try {
      do {
        const page: Pick<WalkPage, "looked" | "nextCursor"> = await walk({ prefix: folder, cursor, signal });
        cursor = page.nextCursor;
        const objects = sum.objects + page.looked.objects;
        const isFar = objects >= MOST_OBJECTS;
        sum = {
          objects,
          bytes: sum.bytes + page.looked.bytes,
          state: cursor === null ? "whole" : isFar ? "partial" : "counting",
          fault: null,
        };
        put(folder, sum);
      } while (sum.state === "counting");
    } catch (error) {
      // What was left in the middle is counted anew when somebody looks again.
      if (signal.aborted) sizes.delete(folder);
      else put(folder, { ...sum, state: "failed", fault: faultOf(error) });
    }
  };
  const run = (): void => {
    const { signal } = closing;
    while (running < AT_ONCE && !signal.aborted) {
      const folder = waiting.shift();
      if (folder === undefined) return;
      running++;
      void count(folder, signal).finally(() => {
        running--;
        run();
      });
    }
  };
  return {
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    state: () => state,
    need: (folders) => {
      if (closing.signal.aborted) closing = new AbortController();
      waiting = folders.filter((folder) => !sizes.has(folder));
      run();
    },
    close: () => {
      waiting = [];
      closing.abort();
    },
  };
}

import type { WalkPage } from "#protocol/buckets/bucket.ts";
import type { FaultData } from "#protocol/faults/fault.ts";
import { faultOf } from "../../_hub/faults/fault-of.ts";

/**
 * Counts the sizes of folders. Object stores have none, so all objects below a folder are listed. Only visible folders are
 * counted, two at a time, each once, and at most `MOST_OBJECTS` of each.
 */

export interface FolderSize {
  objects: number;
  bytes: number;
  /** `partial`: counting ended at `MOST_OBJECTS`; there are more. */
  state: "counting" | "whole" | "partial" | "failed";
  fault: FaultData | null;
}

export interface FolderSizes {
  subscribe: (listener: () => void) => () => void;
  /** Returns a lookup by folder. Its identity changes with every update. */
  state: () => (folder: string) => FolderSize | null;
  /** Sets the visible folders. Earlier requests that have not started are dropped. */
  need: (folders: readonly string[]) => void;
  close: () => void;
}

export type WalkFolder = (asked: {
  prefix: string;
  cursor: string | null;
  signal: AbortSignal;
}) => Promise<Pick<WalkPage, "looked" | "nextCursor">>;

const AT_ONCE = 2;
/** Objects after which counting ends: 250 list requests, about 0.1 cent at usual prices. */
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
      // An aborted count starts over when the folder is visible again.
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

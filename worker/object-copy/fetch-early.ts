import { toFault, type Fault } from "#protocol/faults/fault.ts";
import { warmUp, type Engine } from "../transfer/engine.ts";
import { fetchSmall, isFetchable, type Fetched } from "./fetch-small.ts";
import type { ListedObject } from "./listing/list-objects.ts";

/**
 * Small objects are fetched into memory while the rest of the list is still to come: a long list takes as many round trips
 * as it has pages. Nothing is written before all names are known, because two of them may mean one file.
 */
export interface EarlyFetches {
  /** Begins with those that are new, in their order, as far as memory goes. */
  offer(objects: readonly ListedObject[]): void;
  /** What was asked for this object, once; null when nothing was. The promise gives null when its turn never came. */
  take(object: { key: string; etag: string; sizeBytes: number }): Promise<Fetched | Fault | null> | null;
  /** Ends what nobody has taken. */
  drop(): void;
}

/** Of the memory for buffers. */
const SHARE = 3 / 8;
/** What each takes besides its bytes, and how many there may be: more than fill any link until a list is there. */
const OWN_BYTES = 4 * 1024;
const MOST = 768;
/** Where some of them are small, more will be: connections are opened for so many times as many. */
const MORE_TO_COME = 3;

export function createEarlyFetches(engine: Engine, outer: AbortSignal): EarlyFetches {
  const begun = new Map<string, { etag: string; sizeBytes: number; fetched: Promise<Fetched | Fault | null> }>();
  const stop = new AbortController();
  const signal = AbortSignal.any([outer, stop.signal]);
  let leftBytes = engine.memoryBytes * SHARE;
  let left = MOST;
  let isOver = false;
  const isWanted = () => !isOver;
  /** Where one fails, others may: those that have not begun are left to whoever tries again. */
  const failed = (error: unknown) => {
    isOver = true;
    return toFault(error);
  };
  return {
    offer: (objects) => {
      const isFirst = begun.size === 0;
      for (const { key, sizeBytes, etag, modifiedAtMs } of objects) {
        const piece = { key, objectOffset: 0, fileOffset: 0, length: sizeBytes, crc32: null, etag, modifiedAtMs };
        if (etag === null || !isFetchable(engine, piece) || begun.has(key)) continue;
        if (isOver || left === 0 || sizeBytes + OWN_BYTES > leftBytes) break;
        left--;
        leftBytes -= sizeBytes + OWN_BYTES;
        const fetched = fetchSmall(engine, piece, { signal, onMoved: () => undefined, isWanted }).catch(failed);
        begun.set(key, { etag, sizeBytes, fetched });
      }
      const [key] = begun.keys();
      if (!isFirst || key === undefined) return;
      const next = { count: begun.size * MORE_TO_COME, size: "small" } as const;
      void warmUp(engine, { op: "head", key }, next).catch(() => undefined);
    },
    take: ({ key, etag, sizeBytes }) => {
      const found = begun.get(key);
      begun.delete(key);
      return found?.etag === etag && found.sizeBytes === sizeBytes ? found.fetched : null;
    },
    drop: () => {
      isOver = true;
      stop.abort();
      begun.clear();
    },
  };
}

import { toFault, type Fault } from "#protocol/faults/fault.ts";
import { warmUp, type Engine } from "../transfer/engine.ts";
import { fetchSmall, isFetchable, type Fetched } from "./fetch-small.ts";
import type { ListedObject } from "./listing/list-objects.ts";

/**
 * Fetches small objects into memory while the listing is still in progress, because a long listing takes one round trip per
 * page. Nothing is written before all names are known, because two names may mean the same file.
 */
export interface EarlyFetches {
  /** Begins to fetch new objects in order, as far as memory permits. */
  offer(objects: readonly ListedObject[]): void;
  /** Returns the fetch of this object, once; null without one. The promise resolves to null when the fetch never began. */
  take(object: { key: string; etag: string; sizeBytes: number }): Promise<Fetched | Fault | null> | null;
  /** Ends the fetches that were not taken. */
  drop(): void;
}

/** Share of the buffer memory. */
const SHARE = 3 / 8;
/** Overhead per fetch besides its bytes, and the most fetches: enough to fill any link until the listing ends. */
const OWN_BYTES = 4 * 1024;
const MOST = 768;
/** Connections are opened for this many times the small objects seen at first, because more are likely to follow. */
const MORE_TO_COME = 3;

export function createEarlyFetches(engine: Engine, outer: AbortSignal): EarlyFetches {
  const begun = new Map<string, { etag: string; sizeBytes: number; fetched: Promise<Fetched | Fault | null> }>();
  const stop = new AbortController();
  const signal = AbortSignal.any([outer, stop.signal]);
  let leftBytes = engine.memoryBytes * SHARE;
  let left = MOST;
  let isOver = false;
  const isWanted = () => !isOver;
  /** Stops early fetches after a failure, because others may fail too; the download itself retries. */
  const failed = (error: unknown) => {
    isOver = true;
    return toFault(error);
  };
  return {
    offer: (objects) => {
      const isFirst = begun.size === 0;
      for (const { key, sizeBytes, etag, modifiedAtMs, mayBeArchived } of objects) {
        const piece = { key, objectOffset: 0, fileOffset: 0, length: sizeBytes, crc32: null, etag, modifiedAtMs };
        if (etag === null || mayBeArchived === true || !isFetchable(engine, piece) || begun.has(key)) continue;
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

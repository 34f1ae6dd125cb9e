import { warmUp, type Engine } from "../engine/engine.ts";
import { fetchSmall, isFetchable, type Fetched } from "./fetch-small.ts";
import type { ListedObject } from "./list-objects.ts";

/**
 * Small objects are fetched into memory while the rest of the list is still to come: a long list takes as many round trips
 * as it has pages. Nothing is written before all names are known, because two of them may mean one file.
 */
export interface EarlyFetches {
  /** Begins with those that are new, in their order, as far as memory goes. */
  offer(objects: readonly ListedObject[]): void;
  /** What was begun for this object, once; null when nothing was. The promise gives null when it came to nothing. */
  take(object: { key: string; etag: string; sizeBytes: number }): Promise<Fetched | null> | null;
  /** Ends what nobody has taken. */
  drop(): void;
}

/** Of the memory for buffers. */
const SHARE = 1 / 6;
/** Where some of them are small, more will be: connections are opened for so many times as many. */
const MORE_TO_COME = 3;

export function createEarlyFetches(engine: Engine, outer: AbortSignal): EarlyFetches {
  const begun = new Map<string, { etag: string; sizeBytes: number; fetched: Promise<Fetched | null> }>();
  const stop = new AbortController();
  const signal = AbortSignal.any([outer, stop.signal]);
  let leftBytes = engine.memoryBytes * SHARE;
  return {
    offer: (objects) => {
      const isFirst = begun.size === 0;
      for (const { key, sizeBytes, etag, modifiedAtMs } of objects) {
        const piece = { key, objectOffset: 0, fileOffset: 0, length: sizeBytes, crc32: null, etag, modifiedAtMs };
        if (etag === null || !isFetchable(piece) || begun.has(key)) continue;
        if (sizeBytes > leftBytes) break;
        leftBytes -= sizeBytes;
        // Whoever takes it tries again.
        const fetched = fetchSmall(engine, piece, { signal, onMoved: () => undefined }).catch(() => null);
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
      stop.abort();
      begun.clear();
    },
  };
}

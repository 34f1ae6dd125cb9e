import { Fault } from "#protocol/fault.ts";
import { checkRange } from "#storage/check-range.ts";
import { callStore } from "../engine/engine.ts";
import { createPins, type Pins } from "../engine/pins.ts";
import { createPatience, withRetry } from "../engine/retry.ts";
import type { Bench } from "./bench.ts";

/** Bytes of an object in memory, in order: for what is read once and kept nowhere. */
export interface ObjectRange {
  key: string;
  /** Null where it is not known: then the answers alone hold the pieces to one version. */
  etag: string | null;
  offset: number;
  length: number;
  signal: AbortSignal;
}

/** One request fetches at most this. */
const RANGE_BYTES = 4 * 1024 * 1024;

/**
 * The bytes of a range in pieces of `RANGE_BYTES`, in order. `ahead` of them are fetched while the last is used.
 * Faults: OBJECT_CHANGED, RANGE_IGNORED, those of the store, CANCELLED.
 */
export async function* readPieces(
  bench: Bench,
  about: ObjectRange & { ahead: number },
): AsyncGenerator<Buffer, void, void> {
  const { offset, length, ahead } = about;
  const under: Promise<Buffer>[] = [];
  const ended = new AbortController();
  const pins = createPins();
  const signal = AbortSignal.any([about.signal, ended.signal]);
  try {
    for (let at = 0; at < length || under.length > 0;) {
      while (at < length && under.length < Math.max(1, ahead)) {
        const size = Math.min(RANGE_BYTES, length - at);
        const piece = readRange(bench, { ...about, offset: offset + at, length: size, signal, pins });
        // Whoever waits for it hears of it; until then it is not unheard.
        piece.catch(() => undefined);
        under.push(piece);
        at += size;
      }
      const next = await under.shift();
      if (next !== undefined) yield next;
    }
  } finally {
    ended.abort(new Fault("CANCELLED"));
    await Promise.allSettled(under);
  }
}

/** How many pieces may be held at a time under a memory budget. */
export const piecesWithin = (memoryBytes: number, connections: number): number =>
  Math.max(1, Math.min(connections, Math.floor(memoryBytes / RANGE_BYTES) - 1));

async function readRange(bench: Bench, range: ObjectRange & { pins: Pins }): Promise<Buffer> {
  const { engine } = bench;
  const { key, offset, length, signal } = range;
  const etag = engine.traits.trustEtag ? range.etag : null;
  const patience = createPatience(engine.retrier.clock);
  const lane = engine.limiter.lane({ isOpen: true });
  return withRetry(engine.retrier, { signal, patience }, async () => {
    const bytes = await callStore(
      engine,
      { operation: { op: "get", key, offset, length, etag }, signal },
      ({ status, headers, body }) => {
        checkRange(status === 206 ? { status, headers } : { status, headers, body }, {
          offset,
          length,
          etag,
          subject: key,
        });
        if (etag === null) range.pins.check(range, headers);
        if (body.length !== length) throw new Fault("TRUNCATED", { op: "GetObject", subject: key });
        return body;
      },
    );
    engine.meter.add(length);
    await lane.take(length, signal);
    return bytes;
  });
}

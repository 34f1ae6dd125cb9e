import { Fault, isFault } from "#protocol/faults/fault.ts";
import { checkRange } from "#storage/answers/check-range.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import { fetchRange } from "#worker/transfer/download/fetch-range.ts";
import { pay } from "#worker/transfer/concurrency/limiter.ts";
import { createEtagGuard, type EtagGuard } from "#worker/transfer/download/etag-guard.ts";
import { createPatience, withRetry } from "#worker/transfer/store-session/retry.ts";
import type { StoreSession } from "#worker/store-session/store-session.ts";

/** A range of an object to read into memory in order, for bytes that are used once and not stored. */
export interface ObjectRange {
  key: string;
  /** Null when unknown; then only the ETags of the answers ensure that all pieces are of one version. */
  etag: string | null;
  offset: number;
  length: number;
  signal: AbortSignal;
}

/** Most bytes per request. */
const RANGE_BYTES = 4 * 1024 * 1024;
/** Requests up to this size cost mainly a round trip. */
const SMALL_BYTES = 1024 * 1024;
/** Size of the connection's buffer that each piece passes through. */
const BUFFER_BYTES = 1024 * 1024;

/**
 * Yields the bytes of a range in pieces of `RANGE_BYTES`, in order, with up to `ahead` pieces in flight. A piece is valid only
 * until the next is requested, because its buffer is reused instead of waiting for garbage collection.
 * @throws Fault OBJECT_CHANGED, RANGE_IGNORED, those of the store, CANCELLED
 */
export async function* readPieces(
  storeSession: Pick<StoreSession, "engine">,
  about: ObjectRange & { ahead: number },
): AsyncGenerator<Buffer, void, void> {
  const { offset, length, ahead } = about;
  const under: { memory: Buffer; arrives: Promise<Buffer> }[] = [];
  const unused: Buffer[] = [];
  const ended = new AbortController();
  const etagGuard = createEtagGuard();
  const signal = AbortSignal.any([about.signal, ended.signal]);
  try {
    for (let at = 0; at < length || under.length > 0;) {
      while (at < length && under.length < Math.max(1, ahead)) {
        const size = Math.min(RANGE_BYTES, length - at);
        const memory = unused.pop() ?? Buffer.allocUnsafeSlow(Math.min(RANGE_BYTES, length));
        const into = memory.subarray(0, size);
        const arrives = readRange(storeSession, { ...about, offset: offset + at, signal, etagGuard, into });
        // Prevents an unhandled rejection; the error is thrown when the piece is awaited.
        arrives.catch(() => undefined);
        under.push({ memory, arrives });
        at += size;
      }
      const next = under.shift();
      if (next === undefined) break;
      yield await next.arrives;
      unused.push(next.memory);
    }
  } finally {
    ended.abort(new Fault("CANCELLED"));
    await Promise.allSettled(under.map(({ arrives }) => arrives));
  }
}

/** Returns how many of `wanted` pieces may be in memory at a time within a budget. */
export const piecesWithin = (memoryBytes: number, wanted: number): number =>
  Math.max(1, Math.min(wanted, Math.floor(memoryBytes / (RANGE_BYTES + BUFFER_BYTES))));

/** Fills `into` with the bytes from `offset` on; a retry continues after the bytes already received. */
async function readRange(
  { engine }: Pick<StoreSession, "engine">,
  range: Omit<ObjectRange, "length"> & { etagGuard: EtagGuard; into: Buffer },
): Promise<Buffer> {
  const { key, into, signal } = range;
  const etag = engine.traits.trustEtag ? range.etag : null;
  const operation = { op: "get", key, offset: range.offset, length: into.length, etag } as const;
  const patience = createPatience(engine.retrier.clock);
  const lane = engine.limiter.lane({ isOpen: true });
  let received = 0;
  const fetchRest = async () => {
    const [offset, length] = [range.offset + received, into.length - received];
    // The connection broke after the last byte, so nothing is left to fetch.
    if (length === 0) return;
    try {
      const sink = {
        head: (answer: HttpAnswer) => {
          checkRange(answer, { offset, length, etag, subject: key });
          if (etag === null) range.etagGuard.check(range, answer.headers);
        },
        bytes: (chunk: Buffer) => {
          received += chunk.copy(into, received);
          engine.meter.add(chunk.length);
          patience.progressed();
          return pay(lane, chunk.length, signal);
        },
      };
      await fetchRange(engine, { operation, offset, length, signal, sink });
    } catch (error) {
      // After an answer of the wrong length, the bytes received may not be the range.
      if (isFault(error) && error.code === "UNEXPECTED_ANSWER") received = 0;
      throw error;
    }
    if (received < into.length) throw new Fault("TRUNCATED", { op: "GetObject", subject: key });
  };
  const size = into.length <= SMALL_BYTES ? "small" : "large";
  await engine.semaphore.run({ signal, size }, () => withRetry(engine.retrier, { signal, patience }, fetchRest));
  engine.signatures.forget(operation);
  return into;
}

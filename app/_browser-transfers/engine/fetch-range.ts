import { Fault } from "#protocol/faults/fault.ts";
import type { SignedRequest } from "#protocol/wire/operations.ts";
import { checkRange } from "#storage/answers/check-range.ts";
import { faultOfNetwork } from "#storage/answers/faults.ts";
import type { Range } from "./plan-ranges.ts";

/** A read without a byte for this long is stalled, in milliseconds. */
const STALLED_AFTER_MS = 60_000;
const MOST_ERROR_BYTES = 65_536;

/** Bytes per read: less than a second of any link, so that a dozen connections take little memory. */
const READ_BYTES = 256 * 1024;

interface BodyReader {
  /** Returns a chunk that is valid until the next read; undefined at the end. */
  read: () => Promise<Uint8Array<ArrayBuffer> | undefined>;
  cancel: () => Promise<void>;
}

/**
 * Reads into the same buffer again where the browser supports byte streams (BYOB). Otherwise each chunk is garbage, and a fast
 * link produces hundreds of megabytes before a collection.
 */
function openBody(body: ReadableStream<Uint8Array<ArrayBuffer>>): BodyReader {
  let free = new ArrayBuffer(READ_BYTES);
  try {
    const reader = body.getReader({ mode: "byob" });
    return {
      read: async () => {
        const { value, done } = await reader.read(new Uint8Array(free));
        if (done || value === undefined) return undefined;
        free = value.buffer;
        return value;
      },
      cancel: () => reader.cancel(),
    };
  } catch {
    const reader = body.getReader();
    return { read: async () => (await reader.read()).value, cancel: () => reader.cancel() };
  }
}

interface FetchInput {
  range: Range;
  request: SignedRequest;
  signal: AbortSignal;
  fetch: typeof globalThis.fetch;
  onBytes: (bytes: number) => void;
  /** Consumes a chunk. It must be done with the chunk when it resolves, because the buffer is reused. */
  take: (bytes: Uint8Array<ArrayBuffer>) => Promise<void> | void;
}

/**
 * Reads one range of the pinned version chunk by chunk. Resolves when all bytes have arrived.
 * @throws Fault of the store, TRUNCATED, STALLED, OBJECT_CHANGED, RANGE_IGNORED, CORS_MISSING, LINK_DOWN, CANCELLED
 */
export async function fetchRange(input: FetchInput): Promise<void> {
  const { range, request, signal, onBytes } = input;
  const { key, etag, offset, length } = range;
  const about = { op: "GetObject", subject: key };
  const stall = new AbortController();
  let timer = setTimeout(() => stall.abort(), STALLED_AFTER_MS);
  let reader: BodyReader | null = null;
  const moved = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => stall.abort(), STALLED_AFTER_MS);
  };
  try {
    const headers = { ...request.headers, range: `bytes=${offset}-${offset + length - 1}` };
    const ended = AbortSignal.any([signal, stall.signal]);
    const answer = await input.fetch(request.url, { headers, signal: ended, cache: "no-store", credentials: "omit" });
    const told = Object.fromEntries(answer.headers);
    const isError = answer.status !== 206 && answer.status !== 200;
    const error = isError ? new Uint8Array(await answer.arrayBuffer()).subarray(0, MOST_ERROR_BYTES) : null;
    // The store is another origin, so the page can only read headers that the bucket's CORS rule exposes.
    if (answer.status === 206 && !answer.headers.has("content-range")) {
      throw new Fault("CORS_MISSING", { ...about, status: 206, detail: "the rule does not expose Content-Range" });
    }
    checkRange(
      { status: answer.status, headers: told, ...(error !== null && { body: error }) },
      { offset, length, etag, subject: key, expiresAt: request.expiresAt },
    );
    reader = answer.body === null ? null : openBody(answer.body);
    let at = 0;
    for (;;) {
      const next = await reader?.read();
      if (next === undefined) break;
      moved();
      if (at + next.byteLength > length) throw new Fault("UNEXPECTED_ANSWER", about);
      at += next.byteLength;
      onBytes(next.byteLength);
      await input.take(next);
      // A slow disk must not count as a stalled link.
      moved();
    }
    if (at !== length) throw new Fault("TRUNCATED", about);
  } catch (error) {
    // Frees the connection.
    reader?.cancel().catch(() => undefined);
    if (signal.aborted) throw new Fault("CANCELLED", about);
    if (stall.signal.aborted) throw new Fault("STALLED", about);
    throw faultOfNetwork(error, about);
  } finally {
    clearTimeout(timer);
  }
}

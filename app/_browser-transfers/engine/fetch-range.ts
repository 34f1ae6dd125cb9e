import { Fault } from "#protocol/faults/fault.ts";
import type { SignedRequest } from "#protocol/wire/operations.ts";
import { checkRange } from "#storage/answers/check-range.ts";
import { faultOfNetwork } from "#storage/answers/faults.ts";
import type { Range } from "./plan-ranges.ts";

/** Without a byte for so long, a read is begun anew. */
const STALLED_AFTER_MS = 60_000;
const MOST_ERROR_BYTES = 65_536;

/** Read at a time: much less than a second of any link, so that a dozen connections hold little. */
const READ_BYTES = 256 * 1024;

interface BodyReader {
  /** Valid until the next read; undefined at the end. */
  read: () => Promise<Uint8Array<ArrayBuffer> | undefined>;
  cancel: () => Promise<void>;
}

/**
 * Into the same memory again and again where the browser can (a byte stream), because otherwise each chunk is garbage, and
 * a fast link makes hundreds of megabytes of it before they are collected.
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
  /** The next bytes, as they come: to be copied or done with when it resolves, because their memory is used again. */
  take: (bytes: Uint8Array<ArrayBuffer>) => Promise<void> | void;
}

/**
 * The bytes of one range, of the version it is pinned to, piece by piece; all of them have come when it resolves.
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
    // The page is of another origin than the store: it reads only the headers that the bucket's CORS rule exposes.
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
      // A disk that is slow is no link that stands still.
      moved();
    }
    if (at !== length) throw new Fault("TRUNCATED", about);
  } catch (error) {
    // Its connection is wanted for something better than bytes that nobody takes.
    reader?.cancel().catch(() => undefined);
    if (signal.aborted) throw new Fault("CANCELLED", about);
    if (stall.signal.aborted) throw new Fault("STALLED", about);
    throw faultOfNetwork(error, about);
  } finally {
    clearTimeout(timer);
  }
}

import { Fault } from "#protocol/fault.ts";
import type { SignedRequest } from "#protocol/operations.ts";
import { checkRange } from "#storage/check-range.ts";
import { faultOfNetwork } from "#storage/faults.ts";
import type { Range } from "./plan-ranges.ts";

/** Without a byte for so long, a read is begun anew. */
const STALLED_AFTER_MS = 60_000;
const MOST_ERROR_BYTES = 65_536;

interface FetchInput {
  range: Range;
  request: SignedRequest;
  signal: AbortSignal;
  fetch: typeof globalThis.fetch;
  onBytes: (bytes: number) => void;
}

/**
 * The bytes of one range, of the version it is pinned to.
 * @throws Fault of the store, TRUNCATED, STALLED, OBJECT_CHANGED, RANGE_IGNORED, LINK_DOWN, CANCELLED
 */
export async function fetchRange(input: FetchInput): Promise<Uint8Array<ArrayBuffer>> {
  const { range, request, signal, onBytes } = input;
  const { key, etag, offset, length } = range;
  const about = { op: "GetObject", subject: key };
  const stall = new AbortController();
  let timer = setTimeout(() => stall.abort(), STALLED_AFTER_MS);
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
    checkRange(
      { status: answer.status, headers: told, ...(error !== null && { body: error }) },
      { offset, length, etag, subject: key, expiresAt: request.expiresAt },
    );
    const reader = answer.body?.getReader();
    const bytes = new Uint8Array(length);
    let at = 0;
    for (;;) {
      const next = await reader?.read();
      if (next?.value === undefined) break;
      moved();
      if (at + next.value.byteLength > length) throw new Fault("UNEXPECTED_ANSWER", about);
      bytes.set(next.value, at);
      at += next.value.byteLength;
      onBytes(next.value.byteLength);
    }
    if (at !== length) throw new Fault("TRUNCATED", about);
    return bytes;
  } catch (error) {
    if (signal.aborted) throw new Fault("CANCELLED", about);
    if (stall.signal.aborted) throw new Fault("STALLED", about);
    throw faultOfNetwork(error, about);
  } finally {
    clearTimeout(timer);
  }
}

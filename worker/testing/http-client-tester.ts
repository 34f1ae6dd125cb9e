import { afterEach, expect } from "vitest";
import { isFault, type Fault } from "#protocol/faults/fault.ts";
import { createBuffers, type Buffers } from "../transfer/http/socket/buffers.ts";
import { openPeer, type Link, type Peer } from "./scripted-peer.ts";
import {
  createHttpClient,
  type Exchange,
  type HeldBody,
  type Sink,
  type UploadBody,
  type HttpClient,
  type HttpClientOptions,
} from "../transfer/http/http-client.ts";

/** Helpers for tests of the HTTP client: short forms of exchanges, bodies and sinks, all closed after each test. */
export const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
export const never = new AbortController().signal;
const releasers: (() => Promise<void>)[] = [];

afterEach(async () => {
  while (releasers.length > 0) await releasers.pop()?.();
});

export async function peer(
  serve: (link: Link) => Promise<void> | void,
  tls?: { key: string; cert: string },
): Promise<Peer> {
  const opened = await openPeer(serve, tls);
  releasers.push(() => opened.close());
  return opened;
}

/** Opens a server that keeps the bodies it receives. */
export async function keeping(tls?: { key: string; cert: string }) {
  const kept: Buffer[] = [];
  const server = await peer(async (link) => {
    for (;;) {
      const asked = await link.request();
      if (asked === null) return;
      kept.push(asked.body);
      await link.write(OK);
    }
  }, tls);
  return { server, kept };
}

/** Opens a server that answers every request of every connection with `answer`. */
export const answering = (answer: string | Buffer) =>
  peer(async (link) => {
    while ((await link.request()) !== null) await link.write(answer);
  });

export function httpClient(options: Partial<HttpClientOptions> = {}): HttpClient & { buffers: Buffers } {
  const buffers = createBuffers({ sizeBytes: 128 * 1024, spare: 4 });
  const made = createHttpClient({ connections: 4, idleMs: 5_000, buffers, ...options });
  releasers.push(() => made.close());
  return Object.assign(made, { buffers });
}

export const get = (url: string, rest: Partial<Exchange> = {}): Exchange => ({
  request: { method: "GET", url, headers: {}, expiresAt: 0 },
  op: "GetObject",
  subject: "key",
  signal: never,
  ...rest,
});
export const put = (url: string, body: Buffer | HeldBody | UploadBody, rest: Partial<Exchange> = {}): Exchange => ({
  ...get(url),
  request: { method: "PUT", url, headers: {}, expiresAt: 0 },
  body,
  ...rest,
});

export interface Collected extends Sink {
  bytesOf(): Buffer;
}
export function collect(): Collected {
  const chunks: Buffer[] = [];
  return {
    head: () => undefined,
    bytes: (chunk) => void chunks.push(Buffer.from(chunk)),
    bytesOf: () => Buffer.concat(chunks),
  };
}

/** Returns a sink that takes each chunk one turn of the event loop later, and expects no other chunk until then. */
export function slowly(sink: Sink): Sink {
  let busy = 0;
  return {
    ...(sink.into !== undefined && { into: sink.into }),
    head: () => undefined,
    bytes: async (chunk) => {
      void sink.bytes(chunk);
      expect(++busy).toBe(1);
      await new Promise<void>((resolve) => setImmediate(resolve));
      busy--;
    },
  };
}

export function upload(bytes: Buffer): UploadBody & { sentBytes: number; starts: number } {
  return {
    lengthBytes: bytes.length,
    sentBytes: 0,
    starts: 0,
    read(into, at) {
      if (at === 0) this.starts++;
      return bytes.copy(into, 0, at, at + into.length);
    },
    sent(count) {
      this.sentBytes += count;
    },
    bytesPerSecond: () => 100e6,
  };
}

export const faultOf = async (work: Promise<unknown>): Promise<Fault> => {
  const error: unknown = await work.then(
    () => new Error("no fault"),
    (reason: unknown) => reason,
  );
  if (isFault(error)) return error;
  throw error;
};
export const codeOf = async (work: Promise<unknown>): Promise<string> => (await faultOf(work)).code;

import { Readable } from "node:stream";
import { Agent } from "undici";
import { Fault, isFault } from "#protocol/fault.ts";
import type { SignedRequest } from "#protocol/operations.ts";
import type { HttpAnswer } from "#storage/answers.ts";
import { faultOfNetwork } from "#storage/faults.ts";
import { createWatchdog, type Watchdog } from "./watchdog.ts";

/**
 * The one place where bytes meet the network. A wire has its own keep-alive connections (as many as parts may move at a
 * time), never sends `Expect: 100-continue`, never follows a redirect, and watches every request for bytes that stopped
 * moving. It knows nothing of retries: an exchange succeeds with whatever the store answered, or throws one Fault.
 */
export interface Wire {
  /** Sends a signed request without or with a body, and reads the whole (small) answer. */
  send(exchange: Exchange): Promise<HttpAnswer>;
  /** Sends a signed request and hands the body of a 2xx answer to `sink` as it arrives. Other answers are read whole. */
  fetch(exchange: Exchange & { sink: Sink }): Promise<HttpAnswer>;
  /** Least time to the first byte of recent small requests, ms; null when there was none lately. */
  rttMs(): number | null;
  close(): Promise<void>;
}

export interface Exchange {
  request: SignedRequest;
  op: string;
  /** A key; never the URL. */
  subject: string;
  signal: AbortSignal;
  body?: Buffer | UploadBody;
  headers?: Record<string, string>;
}

export interface UploadBody {
  lengthBytes: number;
  chunks: (watchdog: Watchdog) => AsyncGenerator<Buffer>;
  /** Present upload rate of one connection, to judge how long the last bytes may stay in the kernel's buffers. */
  bytesPerSecond: () => number;
}

export interface Sink {
  /** Called once, before any byte; throws a Fault when the answer is not the wanted one. */
  head(answer: HttpAnswer): void;
  bytes(chunk: Buffer, watchdog: Watchdog): Promise<void>;
}

const IDLE_MS = 15_000;
const CONNECT_MS = 8_000;
/** The most the kernel may hold back after our last write. */
const KERNEL_BUFFER_BYTES = 4 * 1024 * 1024;
const MOST_ANSWER_WAIT_MS = 120_000;
const MOST_ANSWER_BYTES = 8 * 1024 * 1024;
const RTT_WINDOW_MS = 5 * 60_000;

export function createWire(input: { connections: number; idleMs?: number }): Wire {
  const idleMs = input.idleMs ?? IDLE_MS;
  const agent = new Agent({
    connections: input.connections,
    pipelining: 1,
    keepAliveTimeout: 20_000,
    headersTimeout: 0,
    bodyTimeout: 0,
    maxResponseSize: -1,
    connect: { timeout: CONNECT_MS },
  });
  let trips: { at: number; ms: number }[] = [];

  const start = async (exchange: Exchange, watchdog: Watchdog) => {
    const { request, body } = exchange;
    const url = new URL(request.url);
    const startedAt = performance.now();
    const answer = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: request.method,
      headers: headersOf(exchange),
      body: body === undefined ? null : Buffer.isBuffer(body) ? body : streamOf(body, { watchdog, idleMs }),
      signal: watchdog.signal,
    });
    watchdog.expect(idleMs);
    if (body === undefined) {
      const now = performance.now();
      trips = [...trips.filter((trip) => now - trip.at < RTT_WINDOW_MS).slice(-15), { at: now, ms: now - startedAt }];
    }
    return { answer, headers: plainHeaders(answer.headers) };
  };
  const guarded = async <T>(exchange: Exchange, work: (watchdog: Watchdog) => Promise<T>): Promise<T> => {
    const { op, subject, signal } = exchange;
    const watchdog = createWatchdog({ idleMs, outer: signal, op, subject });
    try {
      return await work(watchdog);
    } catch (error) {
      if (isFault(error)) throw error;
      if (watchdog.signal.aborted)
        throw isFault(watchdog.signal.reason) ? watchdog.signal.reason : new Fault("CANCELLED");
      throw faultOfNetwork(error, { op, subject });
    } finally {
      watchdog.stop();
    }
  };
  return {
    send: (exchange) =>
      guarded(exchange, async (watchdog) => {
        const { answer, headers } = await start(exchange, watchdog);
        return { status: answer.statusCode, headers, body: await readSmall(answer.body, { exchange, watchdog }) };
      }),
    fetch: (exchange) =>
      guarded(exchange, async (watchdog) => {
        const { answer, headers } = await start(exchange, watchdog);
        const head: HttpAnswer = { status: answer.statusCode, headers, body: Buffer.alloc(0) };
        if (answer.statusCode < 200 || answer.statusCode > 299) {
          return { ...head, body: await readSmall(answer.body, { exchange, watchdog }) };
        }
        try {
          exchange.sink.head(head);
          for await (const chunk of answer.body) {
            watchdog.touch();
            await exchange.sink.bytes(chunk, watchdog);
          }
        } catch (error) {
          answer.body.on("error", () => undefined).destroy();
          throw error;
        }
        return head;
      }),
    rttMs: () => {
      const now = performance.now();
      const recent = trips.filter((trip) => now - trip.at < RTT_WINDOW_MS);
      return recent.length === 0 ? null : Math.min(...recent.map((trip) => trip.ms));
    },
    close: () => agent.destroy(),
  };
}

function headersOf({ request, body, headers }: Exchange): Record<string, string> {
  const all = { ...request.headers, ...headers };
  if (body !== undefined) all["content-length"] = String(Buffer.isBuffer(body) ? body.length : body.lengthBytes);
  return all;
}

function streamOf(body: UploadBody, watch: { watchdog: Watchdog; idleMs: number }): Readable {
  const { watchdog, idleMs } = watch;
  const counted = async function* () {
    for await (const chunk of body.chunks(watchdog)) {
      watchdog.touch();
      yield chunk;
    }
    // All bytes are in the kernel's hands. On a slow link it takes a while until the store has them.
    const rate = Math.max(1, body.bytesPerSecond());
    const drainMs = (Math.min(body.lengthBytes, KERNEL_BUFFER_BYTES) / rate) * 1000;
    watchdog.expect(Math.min(MOST_ANSWER_WAIT_MS, idleMs + 2 * drainMs));
  };
  return Readable.from(counted(), { objectMode: false, highWaterMark: 1 });
}

async function readSmall(
  body: AsyncIterable<Buffer>,
  about: { exchange: Exchange; watchdog: Watchdog },
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of body) {
    about.watchdog.touch();
    total += chunk.length;
    if (total > MOST_ANSWER_BYTES) {
      const { op, subject } = about.exchange;
      throw new Fault("UNEXPECTED_ANSWER", { op, subject, detail: "the answer is far too long" });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function plainHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string | undefined> {
  const plain: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(headers)) {
    plain[name.toLowerCase()] = Array.isArray(value) ? value.join(", ") : value;
  }
  return plain;
}

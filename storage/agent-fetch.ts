import { request as requestPlain, type IncomingMessage } from "node:http";
import { request as requestOverTls } from "node:https";
import type { LookupFunction } from "node:net";
import { createAgents } from "./network/agents.ts";
import type { StoreTrust } from "#protocol/store-trust.ts";
import { Fault } from "#protocol/fault.ts";

/**
 * A `fetch` whose connections are made with a lookup of ours, which the built-in one cannot be given. Follows no redirect,
 * waits and reads only up to its limits. For small requests of a known form: a URL as text, headers
 * as an object, a body of text or bytes.
 */

export interface AgentFetchOptions {
  lookup: LookupFunction;
  /** See `Reaching`. */
  trust?: StoreTrust | null | undefined;
  /** Longest time until connected, and then from the last byte sent to the last one received. */
  answerMs: number;
  /** What is longer is cut off with Fault UNEXPECTED_ANSWER. */
  mostAnswerBytes: number;
}

const isEmpty = (status: number): boolean => status === 204 || status === 205 || status === 304;

async function collect(body: AsyncIterable<Uint8Array>, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    total += chunk.byteLength;
    if (total > most) throw new Fault("UNEXPECTED_ANSWER", { detail: `the answer is longer than ${most} bytes` });
  }
  return Uint8Array.from(Buffer.concat(chunks));
}

async function read(message: IncomingMessage, most: number): Promise<Response> {
  const status = message.statusCode ?? 0;
  if (status < 200 || status > 599) throw new Fault("UNEXPECTED_ANSWER", { status });
  const headers = Object.entries(message.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const bytes = await collect(message, most);
  return new Response(isEmpty(status) ? null : bytes, { status, headers });
}

/** The answer is read as a whole before it is given back. Rejects with a Fault or an error of the network. */
export function createAgentFetch(options: AgentFetchOptions): typeof globalThis.fetch {
  const { lookup, answerMs, mostAnswerBytes } = options;
  const { httpAgent, httpsAgent } = createAgents({ keepAlive: false }, options);
  return (input, init = {}) =>
    new Promise((resolve, reject) => {
      const url = new URL(input instanceof Request ? input.url : input);
      const { body, signal } = init;
      const sent = (url.protocol === "https:" ? requestOverTls : requestPlain)(url, {
        method: init.method ?? "GET",
        headers: Object.fromEntries(new Headers(init.headers).entries()),
        lookup,
        agent: url.protocol === "https:" ? httpsAgent : httpAgent,
        ...(signal !== undefined && signal !== null && { signal }),
      });
      const late = (): void => void sent.destroy(new Fault("STALLED"));
      let timer = setTimeout(late, answerMs);
      sent.on("socket", (socket) => socket.on("connect", () => clearTimeout(timer)));
      sent.on("finish", () => {
        clearTimeout(timer);
        timer = setTimeout(late, answerMs);
      });
      sent.on("close", () => clearTimeout(timer));
      sent.on("error", reject);
      sent.on("response", (message) => {
        read(message, mostAnswerBytes).then(resolve, (error: unknown) => {
          sent.destroy();
          reject(error instanceof Error ? error : new Error("the answer broke off", { cause: error }));
        });
      });
      sent.end(typeof body === "string" || body instanceof Uint8Array ? body : undefined);
    });
}

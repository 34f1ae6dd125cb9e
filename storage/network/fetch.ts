import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { createAgents, type Reaching } from "./agents.ts";
import { network } from "./network.ts";
import type { Destination } from "./no-proxy.ts";
import { type Agents, beginRequest, endRequest, headOf } from "./request.ts";

/**
 * Fetches with this process's proxy and authorities: with Node's own `fetch` or, behind a proxy, over `node:http`, which
 * can use one. For requests with a URL as text, plain headers, and a body of text or bytes. Answers are streamed.
 */
export const networkFetch: typeof globalThis.fetch = (input, init = {}) => {
  const url = new URL(input instanceof Request ? input.url : input);
  const { proxyFor, authorities } = network();
  const proxy = proxyFor?.(destinationOf(url)) ?? null;
  if (url.protocol === "https:") authorities.prepare();
  return proxy === null ? fetch(input, init) : fetchOver(url, init, sharedAgents());
};

/** Returns `networkFetch`, or a fetch with the store's own authorities or pin where it has some. */
export function storeFetch(reaching: Reaching): typeof globalThis.fetch {
  const trust = reaching.trust ?? null;
  if (network().authorities.forStore(trust?.ca ?? null) === undefined && (trust?.pin ?? null) === null)
    return networkFetch;
  const agents = createAgents({ keepAlive: false }, { ...reaching, trust });
  return (input, init = {}) => fetchOver(new URL(input instanceof Request ? input.url : input), init, agents);
}

export function destinationOf(url: URL): Destination & { isTls: boolean } {
  const isTls = url.protocol === "https:";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return { host, port: url.port === "" ? (isTls ? 443 : 80) : Number(url.port), isTls };
}

let shared: { of: ReturnType<typeof network>; agents: Agents } | null = null;

function sharedAgents(): Agents {
  if (shared?.of !== network()) shared = { of: network(), agents: createAgents({ keepAlive: true }) };
  return shared.agents;
}

function answerOf(message: IncomingMessage): Response {
  const { isEmpty, init } = headOf(message);
  if (isEmpty) message.resume();
  return new Response(isEmpty ? null : (Readable.toWeb(message) as ReadableStream<Uint8Array>), init);
}

function fetchOver(url: URL, init: RequestInit, agents: Agents): Promise<Response> {
  const { signal, redirect = "follow" } = init;
  return new Promise((resolve, reject) => {
    const sent = beginRequest(url, init, agents);
    sent.on("error", (error) => reject(signal?.aborted === true ? (signal.reason as Error) : error));
    sent.on("response", (message) => {
      const isRedirect =
        (message.statusCode ?? 0) >= 300 && (message.statusCode ?? 0) < 400 && message.headers.location !== undefined;
      if (isRedirect && redirect === "error") {
        message.destroy();
        reject(new TypeError("the answer is a redirect, which is not followed"));
        return;
      }
      try {
        resolve(answerOf(message));
      } catch (error) {
        reject(error);
      }
    });
    endRequest(sent, init);
  });
}

import type { IncomingMessage, ServerResponse } from "node:http";
import { callTRPCProcedure, getTRPCErrorFromUnknown, getTRPCErrorShape } from "@trpc/server";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import type { Hub } from "../core/api/hub.ts";
import { hubRouter } from "../router.ts";
import { SSE } from "../core/api/trpc.ts";
import { createContext } from "./create-context.ts";
import type { Refused } from "./node-fast-path.ts";
import { faultDataOf } from "#server/core/api/trpc-error.ts";

/**
 * Serves the stream that every node holds, as the server-sent events that tRPC's client reads (`connected`, data, `ping`,
 * `serialized-error`, `return`), written directly to the socket. The general adapter puts three web streams and a timer around
 * each: 60 kB and a wake-up every few seconds, for 10,000 nodes.
 */

const PATH = /^\/api\/trpc\/(node\.stream)\?input=([^&]{1,4096})$/;
const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

const isIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

function inputOf(text: string): unknown {
  try {
    return JSON.parse(decodeURIComponent(text));
  } catch {
    return undefined;
  }
}

/** Pings all open streams from one timer: a client that hears nothing for long reconnects. Returns the set of open streams. */
function createPinger(closing: AbortSignal): Set<ServerResponse> {
  const open = new Set<ServerResponse>();
  const timer = setInterval(() => {
    for (const response of open) response.write("event: ping\ndata: \n\n");
  }, SSE.ping.intervalMs);
  timer.unref();
  closing.addEventListener("abort", () => clearInterval(timer), { once: true });
  return open;
}

/** Returns a handler for streams of nodes. It tells whether it took the request; a request that it did not take is untouched. */
export function createNodeStreamHandler(way: {
  hub: Hub;
  onError: Refused;
}): (request: IncomingMessage, response: ServerResponse) => Promise<boolean> {
  const { hub, onError } = way;
  const config = hubRouter._def._config;
  const open = createPinger(hub.closing);
  return async (request, response) => {
    const [, path, query] = request.method === "GET" ? (PATH.exec(request.url ?? "") ?? []) : [];
    const isNode = request.headers.authorization?.startsWith("Bearer ") === true;
    if (path === undefined || query === undefined || !isNode) return false;
    const ctx = await createContext(hub, request, response);
    if (ctx.caller.kind !== "node") return false;
    const left = new AbortController();
    response.on("close", () => {
      open.delete(response);
      left.abort();
    });
    const shapeOf = (cause: unknown) => {
      const error = getTRPCErrorFromUnknown(cause);
      onError({ error, path, ctx });
      return { error, shape: getTRPCErrorShape({ config, ctx, error, input: undefined, path, type: "subscription" }) };
    };
    try {
      const getRawInput = () => Promise.resolve(inputOf(query));
      const call = { router: hubRouter, path, ctx, type: "subscription" as const, signal: left.signal, batchIndex: 0 };
      const messages: unknown = await callTRPCProcedure({ ...call, getRawInput });
      if (!isIterable(messages)) throw new TypeError("a stream that cannot be read");
      response.writeHead(200, HEADERS);
      response.write(`event: connected\ndata: ${JSON.stringify(SSE.client)}\n\n`);
      open.add(response);
      try {
        for await (const message of messages) {
          if (response.destroyed) return true;
          response.write(`data: ${JSON.stringify(message)}\n\n`);
        }
        response.write("event: return\ndata: \n\n");
      } catch (cause) {
        if (!left.signal.aborted) {
          response.write(`event: serialized-error\ndata: ${JSON.stringify(shapeOf(cause).shape)}\n\n`);
        }
      }
      response.end();
    } catch (cause) {
      const { error, shape } = shapeOf(cause);
      response.writeHead(FAULTS[faultDataOf(error).code].http, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: shape }));
    }
    return true;
  };
}

import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { TRPCError } from "@trpc/server";
import { createHTTPHandler } from "@trpc/server/adapters/standalone";
import { Fault } from "#protocol/faults/fault.ts";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import type { Hub } from "../core/api/hub.ts";
import { hubRouter } from "../router.ts";
import type { Context, Meta } from "../core/api/trpc.ts";
import { API_PATH } from "../platform/api-path.ts";
import { createContext } from "./create-context.ts";
import { LARGE_INPUTS } from "../core/api/large-inputs.ts";
import { createLargeCallHandler } from "./large-call-handler.ts";
import { refuseLongBody } from "./refuse-long-body.ts";
import { createQueryHandler } from "./query-handler.ts";
import { createNodeStreamHandler } from "./node-fast-path-stream.ts";
import { createNodeCallHandler } from "./node-fast-path.ts";
import { faultDataOf, OWN_FAILURES } from "#server/core/api/trpc-error.ts";

/** Serves the API under /api/trpc. Reads a body only after its sender was identified, and only up to a limit. */

const MOST_CALLS = 20;
/** Larger inputs are read in a worker thread, see `large-inputs`. */
const MOST_BODY_BYTES = 1024 * 1024;
/** Limit for calls that need no sign-in, and for paths that name no procedure. */
const MOST_OPEN_BODY_BYTES = 64 * 1024;

const sayRefusal =
  (hub: Hub) =>
  ({ error, path, ctx }: { error: TRPCError; path?: string | undefined; ctx?: Context | undefined }): void => {
    const fault = faultDataOf(error);
    const who = ctx?.caller.kind ?? "unknown";
    if (OWN_FAILURES.has(fault.code)) hub.log.error({ path, who, error: error.cause ?? error }, "a call failed");
    else if (hub.closing.aborted) hub.log.debug({ path, fault: fault.code }, "a stream ended with the hub");
    else hub.log.info({ path, who, fault: fault.code }, "a call was refused");
  };

/** Returns a test whether a path names only procedures that need a sign-in, alone or as a batch. */
function createAskForSignIn(): (path: string) => boolean {
  const flat: object = hubRouter;
  const { procedures } = Reflect.get(flat, "_def") as { procedures: Record<string, { _def: { meta?: Meta } }> };
  const guarded = new Set(
    Object.entries(procedures).flatMap(([path, { _def }]) => (_def.meta?.who === "open" ? [] : [path])),
  );
  return (path) =>
    decodeURIComponent(path.slice(API_PATH.length))
      .split(",")
      .every((name) => guarded.has(name));
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<boolean>;

/** Tries handlers in order; returns whether one of them took the request. */
async function takeFirst(
  handlers: readonly Handler[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  for (const handler of handlers) if (await handler(request, response)) return true;
  return false;
}

export function createApi(hub: Hub): RequestListener {
  const onError = sayRefusal(hub);
  const handlerFor = (maxBodySize: number) =>
    createHTTPHandler({
      router: hubRouter,
      basePath: API_PATH,
      maxBodySize,
      maxBatchSize: MOST_CALLS,
      createContext: ({ req, res }) => createContext(hub, req, res),
      responseMeta: ({ errors, type }) => {
        const [error] = errors;
        const headers = { "cache-control": "no-store" };
        if (error === undefined || errors.length > 1 || type === "subscription") return { headers };
        return { headers, status: FAULTS[faultDataOf(error).code].http };
      },
      onError,
    });
  const usual = handlerFor(MOST_BODY_BYTES);
  const small = handlerFor(MOST_OPEN_BODY_BYTES);
  const asksForSignIn = createAskForSignIn();
  const largeCalls = createLargeCallHandler({ hub, reader: hub.inputs, onError });
  const not = new Set(["node.enrol"]);
  const nodeCalls = createNodeCallHandler({ hub, mostBytes: MOST_BODY_BYTES, not, onError });
  const nodeStreams = createNodeStreamHandler({ hub, onError });
  const queries = createQueryHandler({ hub, mostCalls: MOST_CALLS, onError });
  return (request, response) => {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    if (request.method !== "GET" && request.method !== "POST") {
      const fault = new Fault("NOT_FOUND", { detail: "the API answers GET and POST" });
      response.writeHead(405, { allow: "GET, POST", "content-type": "text/plain" }).end(`${fault.message}\n`);
      return;
    }
    const isGuarded = asksForSignIn(path);
    const name = decodeURIComponent(path.slice(API_PATH.length));
    const mostBytes = isGuarded ? MOST_BODY_BYTES : MOST_OPEN_BODY_BYTES;
    if (!LARGE_INPUTS.has(name) && refuseLongBody(request, response, { path: name, mostBytes })) return;
    const general = isGuarded ? usual : small;
    const handlers = request.method === "GET" ? [nodeStreams, queries] : [largeCalls, nodeCalls];
    takeFirst(handlers, request, response).then(
      (isTaken) => {
        if (!isTaken) general(request, response);
      },
      (error: unknown) => {
        hub.log.error({ path, error }, "a call failed");
        response.destroy();
      },
    );
  };
}

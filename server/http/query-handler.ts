import type { IncomingMessage, ServerResponse } from "node:http";
import { callTRPCProcedure, getTRPCErrorFromUnknown, getTRPCErrorShape, type TRPCError } from "@trpc/server";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import type { Hub } from "../core/api/hub.ts";
import { createPauses } from "../platform/pauses.ts";
import { hubRouter } from "../router.ts";
import { faultDataOf } from "#server/core/api/trpc-error.ts";
import { API_PATH } from "../platform/api-path.ts";
import { createContext } from "./create-context.ts";
import { jsonPieces } from "../platform/json-pieces.ts";
import type { Refused } from "./node-fast-path.ts";

/**
 * Answers queries, alone or as a batch, like the general adapter, but writes long answers in pieces. A list of 10,000 nodes is
 * 10 MB of JSON, and nobody else would be answered while it is written at once. Streams and unusual requests are left to the
 * general adapter, untouched.
 */

interface Asked {
  isBatch: boolean;
  calls: { path: string; input: unknown }[];
}

type IsQuery = (path: string) => boolean;

/** Returns the queries of a GET; null when it asks for anything else. */
export function questionsOf(url: string, isQuery: IsQuery): Asked | null {
  const parsed = URL.parse(url, "http://hub");
  if (parsed === null || !parsed.pathname.startsWith(API_PATH)) return null;
  const isBatch = parsed.searchParams.get("batch") === "1";
  const whole = decodedOf(parsed.pathname.slice(API_PATH.length));
  const paths = isBatch ? whole.split(",") : [whole];
  if (!paths.every(isQuery)) return null;
  const inputs = inputsOf(parsed.searchParams.get("input"));
  if (inputs === null) return null;
  if (!isBatch) return { isBatch, calls: paths.map((path) => ({ path, input: inputs.value })) };
  const { value = {} } = inputs;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  return {
    isBatch,
    calls: paths.map((path, at): Asked["calls"][number] => ({ path, input: Reflect.get(value, String(at)) })),
  };
}

function decodedOf(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return "";
  }
}

/** Parses the input of a query; null when it is not JSON. */
function inputsOf(text: string | null): { value?: unknown } | null {
  if (text === null || text === "") return {};
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return null;
  }
}

/** Writes a value as JSON, in pieces where it is long. */
async function sendJson(response: ServerResponse, status: number, value: unknown): Promise<void> {
  const headers = { "content-type": "application/json", "cache-control": "no-store", vary: "trpc-accept, accept" };
  const pieces = jsonPieces(value);
  const first = pieces.next();
  let next = pieces.next();
  if (next.done === true) {
    response.writeHead(status, headers).end(first.value);
    return;
  }
  response.writeHead(status, headers);
  const pauses = createPauses();
  let text = first.value ?? "";
  while (next.done !== true && !response.destroyed) {
    text += next.value;
    next = pieces.next();
    if (text.length < WRITTEN_AT_ONCE) continue;
    // Back-pressure: a slow reader holds no more than this in memory.
    if (!response.write(text)) await drained(response);
    text = "";
    if (pauses.isDue()) await pauses.take();
  }
  response.end(text);
}

const WRITTEN_AT_ONCE = 64 * 1024;

/** Resolves when the written data has left, or when the client is gone. */
function drained(response: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const done = (): void => {
    response.removeListener("drain", done);
    response.removeListener("close", done);
    resolve(undefined);
  };
  response.on("drain", done);
  response.on("close", done);
  return promise;
}

/** Returns the status of a batch: 200, the status of its only failure or of all answers that failed alike, else 207. */
function statusOf(failed: readonly number[], count: number): number {
  const [first = 200] = failed;
  if (failed.length <= 1) return first;
  return failed.length === count && failed.every((status) => status === first) ? first : 207;
}

interface Definition {
  procedures: Record<string, { _def: { type: string } }>;
}

type Answer = { result: { data: unknown } } | { error: unknown };

/** Returns a handler for plain queries. It tells whether it took the request; a request that it did not take is untouched. */
export function createQueryHandler(way: {
  hub: Hub;
  mostCalls: number;
  onError: Refused;
}): (request: IncomingMessage, response: ServerResponse) => Promise<boolean> {
  const { hub, mostCalls, onError } = way;
  const config = hubRouter._def._config;
  // The type of the router nests its procedures, but at run time they are in one flat record.
  const flat: object = hubRouter;
  const { procedures } = Reflect.get(flat, "_def") as Definition;
  const isQuery: IsQuery = (path) => Object.hasOwn(procedures, path) && procedures[path]?._def.type === "query";
  return async (request, response) => {
    const isUsual = request.headers["trpc-accept"] === undefined && request.headers.accept !== "application/jsonl";
    const asked = isUsual ? questionsOf(request.url ?? "", isQuery) : null;
    if (asked === null || asked.calls.length > mostCalls) return false;
    const ctx = await createContext(hub, request, response);
    const left = new AbortController();
    response.on("close", () => {
      if (!response.writableFinished) left.abort();
    });
    const failed: number[] = [];
    const answerOne = async ({ path, input }: Asked["calls"][number], batchIndex: number): Promise<Answer> => {
      const call = { router: hubRouter, path, ctx, type: "query" as const, signal: left.signal, batchIndex };
      try {
        const data: unknown = await callTRPCProcedure({ ...call, getRawInput: () => Promise.resolve(input) });
        return { result: { data } };
      } catch (cause) {
        const error: TRPCError = getTRPCErrorFromUnknown(cause);
        onError({ error, path, ctx });
        failed.push(FAULTS[faultDataOf(error).code].http);
        return { error: getTRPCErrorShape({ config, ctx, error, input, path, type: "query" }) };
      }
    };
    const answers = await Promise.all(asked.calls.map(answerOne));
    await sendJson(response, statusOf(failed, answers.length), asked.isBatch ? answers : answers[0]);
    return true;
  };
}

import type { IncomingMessage, ServerResponse } from "node:http";
import { callTRPCProcedure, getTRPCErrorFromUnknown, getTRPCErrorShape, TRPCError } from "@trpc/server";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import type { Hub } from "../core/api/hub.ts";
import { hubRouter } from "../router.ts";
import type { Context } from "../core/api/trpc.ts";
import { createContext } from "./create-context.ts";
import { faultDataOf } from "#server/core/api/trpc-error.ts";

/**
 * Fast path for the calls that nodes make all the time. A fleet of 10,000 nodes makes 2,000 calls a second, and the general
 * adapter builds a web request, a batch and a stream for each. Here the same procedure runs, with the same guard and schema,
 * and gives the same answer; only the framing differs. Unusual requests are left to the general adapter, untouched.
 */

const PATH = /^\/api\/trpc\/(node\.[A-Za-z]{1,32})$/;

interface Definition {
  procedures: Record<string, { _def: { type: string } }>;
}

/** Called for each error that is sent. */
export type Refused = (about: { error: TRPCError; path: string; ctx: Context | undefined }) => void;

interface NodeCalls {
  hub: Hub;
  mostBytes: number;
  /** Calls that are left to the general adapter. */
  not: ReadonlySet<string>;
  onError: Refused;
}

/** Returns the procedure of a request that is one plain call of a node; null for any other request. */
export function plainCallOf(
  request: Pick<IncomingMessage, "method" | "url" | "headers">,
  mostBytes: number,
): string | null {
  const { authorization = "", "content-type": type = "", "content-length": length = "" } = request.headers;
  if (request.method !== "POST" || !authorization.startsWith("Bearer ")) return null;
  if (!/^application\/json\s*(;|$)/i.test(type) || !/^\d{1,9}$/.test(length) || Number(length) > mostBytes) return null;
  return PATH.exec(request.url ?? "")?.[1] ?? null;
}

function bodyOf(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => resolve(Buffer.concat(chunks).toString()));
    request.on("error", reject);
    request.on("close", () => {
      if (!request.complete) reject(new Error("the caller left"));
    });
  });
}

async function inputOf(request: IncomingMessage): Promise<unknown> {
  const text = await bodyOf(request);
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch (cause) {
    throw new TRPCError({ code: "BAD_REQUEST", cause });
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json",
    "cache-control": "no-store",
    "content-length": Buffer.byteLength(text),
  });
  response.end(text);
}

interface Mutation {
  path: string;
  ctx: Context;
  getRawInput: () => Promise<unknown>;
  onError: Refused;
}

/** Runs a procedure and sends its result or error, in the form of the general adapter. */
export async function answerMutation(response: ServerResponse, mutation: Mutation): Promise<void> {
  const { path, ctx, getRawInput, onError } = mutation;
  const left = new AbortController();
  response.on("close", () => {
    if (!response.writableFinished) left.abort();
  });
  try {
    const call = { router: hubRouter, path, ctx, type: "mutation" as const, signal: left.signal, batchIndex: 0 };
    const data: unknown = await callTRPCProcedure({ ...call, getRawInput });
    send(response, 200, { result: { data } });
  } catch (cause) {
    const error = getTRPCErrorFromUnknown(cause);
    onError({ error, path, ctx });
    const config = hubRouter._def._config;
    const shape = getTRPCErrorShape({ config, ctx, error, input: undefined, path, type: "mutation" });
    send(response, FAULTS[faultDataOf(error).code].http, { error: shape });
  }
}

/**
 * Returns a handler for plain calls of nodes. It tells whether it took the request; a request that it did not take is
 * untouched.
 */
export function createNodeCallHandler(
  way: NodeCalls,
): (request: IncomingMessage, response: ServerResponse) => Promise<boolean> {
  const { hub, mostBytes, not, onError } = way;
  // The type of the router nests its procedures, but at run time they are in one flat record.
  const flat: object = hubRouter;
  const { procedures } = Reflect.get(flat, "_def") as Definition;
  const isMutation = (path: string): boolean => procedures[path]?._def.type === "mutation";
  return async (request, response) => {
    const path = plainCallOf(request, mostBytes);
    if (path === null || not.has(path) || !isMutation(path)) return false;
    const ctx = await createContext(hub, request, response);
    if (ctx.caller.kind !== "node") return false;
    await answerMutation(response, { path, ctx, onError, getRawInput: () => inputOf(request) });
    return true;
  };
}

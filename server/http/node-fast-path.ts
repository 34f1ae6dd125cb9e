import type { IncomingMessage, ServerResponse } from "node:http";
import { callTRPCProcedure, getTRPCErrorFromUnknown, getTRPCErrorShape, TRPCError } from "@trpc/server";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import type { Hub } from "../core/api/hub.ts";
import { hubRouter } from "../router.ts";
import type { Context } from "../core/api/trpc.ts";
import { createContext } from "./create-context.ts";
import { faultDataOf } from "#server/core/api/trpc-error.ts";

/**
 * What nodes say all the time, without what only browsers need. A fleet of ten thousand says two thousand things a second:
 * the general adapter makes a web request, a batch and a stream of each. Here the same procedure runs, with the same guard
 * and the same schema, and the same answer leaves; only the packing is ours. Anything out of the ordinary is left to the
 * general adapter, untouched.
 */

const PATH = /^\/api\/trpc\/(node\.[A-Za-z]{1,32})$/;

interface Definition {
  procedures: Record<string, { _def: { type: string } }>;
}

/** Called for each error that leaves. */
export type Refused = (about: { error: TRPCError; path: string; ctx: Context | undefined }) => void;

interface ShortWay {
  hub: Hub;
  mostBytes: number;
  /** Calls that the general adapter takes, because their bodies are large. */
  not: ReadonlySet<string>;
  onError: Refused;
}

/** The procedure that a request asks for, when it is one plain call of a node; null for everything else. */
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

/** Runs a procedure and sends what comes of it, in the form of the general adapter. */
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

/** Answers plain calls of nodes. Returns whether it took the request; what it did not take is as it was. */
export function createShortWay(
  way: ShortWay,
): (request: IncomingMessage, response: ServerResponse) => Promise<boolean> {
  const { hub, mostBytes, not, onError } = way;
  // Its type nests what the router keeps flat.
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

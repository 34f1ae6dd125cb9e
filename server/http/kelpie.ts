import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import { TRPCError } from "@trpc/server";
import { databaseFailure } from "#prisma/database-failure.ts";
import { Fault, isFault, sentenceOf, type FaultData } from "#protocol/faults/fault.ts";
import { FAULTS, type FaultCode } from "#protocol/faults/fault-table.ts";
import { readToken } from "../core/accounts/api-tokens/read-token.ts";
import { noteRefusal } from "../core/accounts/auth/refusals.ts";
import type { Hub } from "../core/api/hub.ts";
import { KELPIE_BODY, PARSED_HERE_BYTES } from "../core/api/large-inputs.ts";
import { faultDataOf, OWN_FAILURES } from "../core/api/trpc-error.ts";
import {
  changeKelpieRule,
  listKelpieRules,
  readKelpieRule,
  removeKelpieRule,
  setKelpieRule,
} from "../features/groups/kelpie-rules.ts";
import { answerKelpie } from "../features/jobs/kelpie/answer-kelpie.ts";
import type { KelpieAnswer, ScalingRules } from "../features/jobs/kelpie/kelpie-call.ts";
import type { KelpieCaller } from "../features/jobs/kelpie/kelpie-caller.ts";
import { asCaller } from "../platform/caller-turns.ts";
import { writeJson } from "../platform/json-pieces.ts";
import { addressOf } from "./create-context.ts";
import { readBody } from "./read-body.ts";

/**
 * Serves the Kelpie-compatible API under /kelpie. It takes no cookies, so no other page can make a browser call it. Every
 * answer is JSON: a worker reads each as JSON.
 */

const PATH = "/kelpie";
export const isKelpiePath = (url: string): boolean => /^\/kelpie(?:[/?]|$)/.test(url);

/** Rate limit for calls whose credentials are refused, by network. Workers behind one address are not held up by it. */
const REFUSED_CALLS = { atOnce: 60, perSecond: 2 } as const;
const REFUSALS: ReadonlySet<FaultCode> = new Set(["API_TOKEN_REFUSED", "WORKLOAD_REFUSED"]);
const TOKEN = /^tmk_[A-Za-z0-9_-]{16,124}$/;
const JWT = /^Bearer ([A-Za-z0-9_.=-]{16,8192})$/;

const headerOf = (request: IncomingMessage, name: string): string | null => {
  const value = request.headers[name];
  return typeof value === "string" && value !== "" ? value : null;
};

interface Credentials {
  by: "api-token" | "join-token";
  read: () => Promise<KelpieCaller>;
}

/** Returns how to check the credentials of a request; null when it has none. As in Kelpie the first header decides. */
function credentialsOf(hub: Hub, request: IncomingMessage, address: string): Credentials | null {
  const ofToken = (token: string): Credentials => ({
    by: "api-token",
    read: async () => {
      if (!TOKEN.test(token)) throw new Fault("API_TOKEN_REFUSED");
      return { kind: "person", caller: { ...(await readToken(hub, token)), address } };
    },
  });
  const key = headerOf(request, "x-kelpie-key");
  if (key !== null) return ofToken(key);
  const saladKey = headerOf(request, "salad-api-key");
  if (saladKey !== null && saladKey.startsWith("tmk_")) return ofToken(saladKey);
  if (saladKey !== null) {
    const detail = "this hub does not check keys of Salad: send an API token of this hub as X-Kelpie-Key";
    return { by: "api-token", read: async () => Promise.reject(new Fault("API_TOKEN_REFUSED", { detail })) };
  }
  const authorization = headerOf(request, "authorization");
  if (authorization === null) return null;
  const bearer = JWT.exec(authorization)?.[1] ?? "";
  if (bearer.startsWith("tmk_")) return ofToken(bearer);
  return {
    by: "join-token",
    read: async () => {
      const { machineId, workloadId } = await hub.workloads.verify(bearer);
      return { kind: "workload", machineId, workloadId };
    },
  };
}

const NO_KEY: KelpieAnswer = {
  status: 401,
  body: { error: "Unauthorized", message: "API Key or Bearer Token Required" },
};

/** Returns the error of a call in Kelpie's form. */
function answerOf(fault: FaultData): KelpieAnswer {
  const isKey = fault.code === "API_TOKEN_REFUSED";
  const status = isKey ? 403 : FAULTS[fault.code].http;
  const why = fault.detail === undefined ? "" : `: ${fault.detail}`;
  const message = isKey ? `Invalid API Key${why}` : sentenceOf(fault);
  return { status, body: { error: STATUS_CODES[status] ?? "Error", message } };
}

function faultOf(error: unknown): FaultData {
  if (error instanceof TRPCError) return faultDataOf(error);
  const failure = databaseFailure(error);
  if (failure !== null) return { code: failure };
  // Any other error reveals nothing of its cause to a caller.
  return isFault(error) ? error.toData() : { code: "INTERNAL" };
}

/** Returns the name by which this caller takes turns at the database. */
const turnOf = (caller: KelpieCaller): string =>
  caller.kind === "workload"
    ? `machine ${caller.machineId}`
    : caller.caller.kind === "token"
      ? `token ${caller.caller.tokenId}`
      : `person ${caller.caller.person.id}`;

/** Reads a body as JSON, a large one in another thread. @throws Fault BAD_INPUT, TOO_LARGE; TRPCError with them */
const bodyReader = (hub: Hub, request: IncomingMessage, caller: KelpieCaller) => async (mostBytes: number) => {
  const detail = `this call takes ${mostBytes} bytes at most`;
  const bytes = await readBody(request, mostBytes, () => new Fault("TOO_LARGE", { detail }));
  if (bytes.length > PARSED_HERE_BYTES) return hub.inputs.read({ caller: turnOf(caller), path: KELPIE_BODY, bytes });
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch (cause) {
    throw new Fault("BAD_INPUT", { detail: "the body is not JSON", cause });
  }
};

const rulesOf = (hub: Hub): ScalingRules => ({
  list: () => listKelpieRules(hub),
  read: (id) => readKelpieRule(hub, id),
  set: (caller, rule) => setKelpieRule({ hub, caller }, rule),
  change: (caller, id, change) => changeKelpieRule({ hub, caller }, id, change),
  remove: (caller, id) => removeKelpieRule({ hub, caller }, id),
});

async function answer(hub: Hub, request: IncomingMessage, url: URL): Promise<KelpieAnswer> {
  const address = addressOf(request, hub.settings);
  const credentials = credentialsOf(hub, request, address);
  if (credentials === null) return NO_KEY;
  const read = asCaller(`at ${address}`, credentials.read);
  const caller = await read.catch(async (error: unknown) => {
    // The database or the keys of the platform may be away: nobody was refused then.
    if (!isFault(error) || !REFUSALS.has(error.code)) throw error;
    hub.throttle.spend(`kelpie:${address}`, REFUSED_CALLS);
    await noteRefusal(hub, { by: credentials.by, address });
    throw error;
  });
  const method = request.method ?? "GET";
  const path = url.pathname.slice(PATH.length);
  const leave = hub.loop.enter(`kelpie ${method}`);
  const call = {
    hub,
    caller,
    query: url.searchParams,
    readBody: bodyReader(hub, request, caller),
    rules: rulesOf(hub),
  };
  return asCaller(turnOf(caller), () => answerKelpie({ method, path }, call)).finally(leave);
}

/** How long the rest of a body is read and discarded: cutting the connection at once could lose the answer. */
const LINGER_MS = 2_000;

/** Answers one request under /kelpie. */
export async function serveKelpie(hub: Hub, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? PATH, "http://hub.invalid");
  let { status, body } = NO_KEY;
  try {
    ({ status, body } = await answer(hub, request, url));
  } catch (error) {
    const fault = faultOf(error);
    const about = { path: url.pathname, fault: fault.code };
    if (OWN_FAILURES.has(fault.code)) hub.log.error({ ...about, error }, "a call failed");
    else hub.log.info(about, "a call was refused");
    ({ status, body } = answerOf(fault));
    const retryAfterMs = error instanceof Fault ? error.context.retryAfterMs : undefined;
    if (retryAfterMs !== undefined) response.setHeader("retry-after", String(Math.ceil(retryAfterMs / 1_000)));
  }
  const text = body === null ? undefined : await writeJson(body);
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(text);
  if (request.complete) return;
  request.resume();
  const cut = setTimeout(() => request.destroy(), LINGER_MS);
  request.on("close", () => clearTimeout(cut));
}

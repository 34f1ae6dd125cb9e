import { setTimeout as sleep } from "node:timers/promises";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { visibleStart } from "#protocol/base/visible-text.ts";
import type { AccountMemory } from "#server/core/live/group-memory.ts";
import { lookupFor, refuseEndpoint, type Reach } from "#server/platform/reach.ts";
import { createAgentFetch } from "#storage/network/agent-fetch.ts";
import * as z from "zod";

/**
 * Sends requests to the API of SaladCloud, which limits their number: after a 429 nothing is sent for the account until the
 * pause is over. The address passes the hub's rules, also in the DNS lookup that connects. No redirect is followed, because
 * the key is in a header.
 */

const ANSWER_MS = 20_000;
/** A request that took longer is not repeated, because a person may wait for its answer. */
const REPEATED_WITHIN_MS = 10_000;
const MOST_BYTES = 4 * 1024 * 1024;
const MOST_WORDS = 300;
const SHORTEST_PAUSE_MS = 1_000;
const USUAL_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 15 * 60_000;
/** Waits between the tries of one request. */
const WAITS_MS = [500, 2_000];
/** Codes of errors before anything was sent. */
const UNSENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ENETUNREACH", "EHOSTUNREACH"]);

export interface SaladAccess {
  base: URL;
  organization: string;
  project: string;
  key: string;
  reach: Reach;
  signal: AbortSignal;
  now: () => number;
  memory: AccountMemory;
}

export interface SaladRequest {
  method: "GET" | "POST" | "PATCH";
  /** Below the organization, unencoded. */
  path: readonly string[];
  /** Sent as a JSON merge patch. */
  patch?: object;
  /** Whether a second request would act a second time: then it is repeated only while nothing was sent. */
  isOnce?: true;
}

/** RFC 9457. */
const problem = z.object({ title: z.string().optional(), detail: z.string().optional() });

/** Returns the words of a refusal, in one line. */
function wordsOf(text: string, status: number): string {
  let told: z.infer<typeof problem> = {};
  try {
    told = problem.parse(JSON.parse(text));
  } catch {
    // Words of a proxy or a page: the status says as much.
  }
  const parts = [told.title, told.detail].filter((part) => part !== undefined && part.trim() !== "");
  const said = parts.length === 0 ? "" : `: ${parts.join(": ").replaceAll(/\s+/g, " ")}`;
  return visibleStart(`HTTP ${status}${said}`, MOST_WORDS);
}

/** Returns `Retry-After` in ms, of seconds or of a date; null without one. */
function retryAfter(header: string | null, now: number): number | null {
  if (header === null || header.trim() === "") return null;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header) - now;
  return Number.isFinite(ms) ? Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, ms)) : null;
}

const pausedFault = (access: SaladAccess): Fault => {
  const retryAfterMs = Math.max(0, access.memory.pausedUntil - access.now());
  const detail = `no request is sent for ${Math.ceil(retryAfterMs / 1_000)} s`;
  return new Fault("GROUP_PAUSED", { subject: access.base.host, detail, retryAfterMs });
};

function beginPause(access: SaladAccess, header: string | null): Fault {
  const { memory, now } = access;
  const told = retryAfter(header, now());
  const ms = told ?? Math.min(LONGEST_PAUSE_MS, USUAL_PAUSE_MS * 2 ** Math.min(memory.pauses, 10));
  memory.pauses += 1;
  memory.pausedUntil = Math.max(memory.pausedUntil, now() + ms);
  return pausedFault(access);
}

function refusal(status: number, about: { subject: string; detail: string }): Fault {
  const context = { ...about, status };
  if (status === 401 || status === 403) return new Fault("GROUP_KEY_REFUSED", context);
  if (status === 404) return new Fault("GROUP_UNKNOWN", context);
  return new Fault(status >= 500 || status === 408 ? "GROUP_UNREACHABLE" : "GROUP_REFUSED", context);
}

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

/** Sends a request once. @throws Fault */
async function askOnce(access: SaladAccess, { method, path, patch }: SaladRequest): Promise<unknown> {
  const { base, key, reach, signal } = access;
  const parts = ["organizations", access.organization, ...path].map((part) => encodeURIComponent(part));
  const url = `${base.href.replace(/\/+$/, "")}/${parts.join("/")}`;
  const fetch = createAgentFetch({
    lookup: lookupFor(base.origin, reach),
    answerMs: ANSWER_MS,
    mostAnswerBytes: MOST_BYTES,
  });
  const json = patch === undefined ? "application/json" : "application/merge-patch+json";
  const answer = await fetch(url, {
    method,
    signal,
    headers: {
      "salad-api-key": key,
      accept: json === "application/json" ? json : `${json}, application/json`,
      "user-agent": "Tidemark",
      ...(patch === undefined ? {} : { "content-type": json }),
    },
    ...(patch === undefined ? {} : { body: JSON.stringify(patch) }),
  });
  const text = await answer.text();
  if (answer.status === 429) throw beginPause(access, answer.headers.get("retry-after"));
  if (!answer.ok) {
    const subject = path.at(-1) ?? access.organization;
    throw refusal(answer.status, { subject, detail: wordsOf(text, answer.status) });
  }
  access.memory.pauses = 0;
  if (method !== "GET") return null;
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new Fault("GROUP_REFUSED", { subject: base.host, detail: "its answer is no JSON", cause });
  }
}

function asFault(error: unknown, { base, signal }: SaladAccess): Fault {
  if (signal.aborted) return new Fault("CANCELLED", { op: "groups" });
  if (isFault(error) && error.code.startsWith("GROUP_")) return error;
  if (isFault(error) && error.code === "ENDPOINT_REFUSED") return error;
  const about = { subject: base.host, cause: error };
  if (isFault(error) && error.code === "UNEXPECTED_ANSWER") {
    return new Fault("GROUP_REFUSED", { ...about, detail: error.context.detail ?? "its answer could not be read" });
  }
  const stalled = isFault(error) && error.code === "STALLED" ? `no answer within ${ANSWER_MS / 1_000} s` : "";
  const code = codeOf(error);
  return new Fault("GROUP_UNREACHABLE", { ...about, detail: stalled || code || "the connection failed" });
}

/**
 * Sends a request, up to three times when that may help, and returns the answer to a GET.
 * @throws Fault GROUP_KEY_REFUSED, GROUP_UNKNOWN, GROUP_REFUSED, GROUP_PAUSED, GROUP_UNREACHABLE, ENDPOINT_REFUSED, CANCELLED
 */
export async function askSalad(access: SaladAccess, request: SaladRequest): Promise<unknown> {
  const { memory, now, signal } = access;
  const startedAt = performance.now();
  await refuseEndpoint(access.base.origin, access.reach);
  for (let tries = 0; ; tries++) {
    if (memory.pausedUntil > now()) throw pausedFault(access);
    try {
      return await askOnce(access, request);
    } catch (error) {
      const fault = asFault(error, access);
      const waitMs = WAITS_MS[tries];
      const mayRepeat =
        (request.isOnce !== true || UNSENT.has(codeOf(error))) && performance.now() - startedAt < REPEATED_WITHIN_MS;
      if (fault.code !== "GROUP_UNREACHABLE" || waitMs === undefined || !mayRepeat) throw fault;
      await sleep(waitMs, null, { signal }).catch(() => undefined);
      if (signal.aborted) throw new Fault("CANCELLED", { op: "groups", cause: error });
    }
  }
}

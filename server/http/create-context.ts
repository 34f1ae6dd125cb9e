import type { IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";
import { databaseFailure } from "#prisma/database-failure.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { readToken } from "../core/accounts/api-tokens/read-token.ts";
import { noteRefusal } from "../core/accounts/auth/refusals.ts";
import { readSession, secretInCookie } from "../core/accounts/auth/session.ts";
import { asCaller } from "../platform/caller-turns.ts";
import type { HubSettings } from "../platform/env.ts";
import type { Hub } from "../core/api/hub.ts";
import { readNodeCredential } from "../core/nodes/read-credential.ts";
import { hashOf } from "../platform/random-id.ts";
import type { Context } from "../core/api/trpc.ts";
import type { Caller } from "#server/core/api/caller.ts";

/** Collects who calls, from where, and whether a change may come from there. The guard in `trpc.ts` decides by it. */

/** The parts of a request that tell where it comes from. */
type Asked = Pick<IncomingMessage, "method" | "headers"> & { socket: Pick<IncomingMessage["socket"], "remoteAddress"> };

const headerOf = (request: Asked, name: string): string | null => {
  const value = request.headers[name];
  return typeof value === "string" && value !== "" ? value : null;
};

const lastOf = (list: string): string => list.slice(list.lastIndexOf(",") + 1).trim();

/** Returns the network of an address: for IPv6 its /64, because a client that has one address can use all of them. */
function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const [start = "", end] = address.split("::", 2);
  const inner = address.slice(address.lastIndexOf(":") + 1);
  if (inner.includes(".")) return inner;
  const groups = start === "" ? [] : start.split(":");
  const missing = end === undefined ? 0 : 8 - groups.length - (end === "" ? 0 : end.split(":").length);
  const all = [...groups, ...Array.from({ length: missing }, () => "0"), ...(end ?? "").split(":")];
  return `${all.slice(0, 4).join(":")}::/64`;
}

/**
 * Returns the address by which tries of a caller are counted. Behind a trusted proxy it is the last entry of `X-Forwarded-For`,
 * which the proxy added; the client may have forged the earlier ones.
 */
export function addressOf(request: Asked, settings: Pick<HubSettings, "trustProxy">): string {
  const forwarded = settings.trustProxy ? headerOf(request, "x-forwarded-for") : null;
  return networkOf(forwarded === null ? (request.socket.remoteAddress ?? "") : lastOf(forwarded));
}

/** Returns the hub's origin as the caller reaches it. */
export function originOf(request: Asked, settings: Pick<HubSettings, "publicUrl" | "trustProxy">): string {
  if (settings.publicUrl !== null) return settings.publicUrl.origin;
  const forwarded = settings.trustProxy ? headerOf(request, "x-forwarded-proto") : null;
  const scheme = forwarded !== null && lastOf(forwarded) === "https" ? "https" : "http";
  return URL.parse(`${scheme}://${headerOf(request, "host") ?? "localhost"}`)?.origin ?? "http://localhost";
}

/**
 * Returns why a change is refused as cross-site (CSRF), or null. Browsers send `Sec-Fetch-Site` or `Origin`; a client without
 * them is no browser, and has no cookie of another person to misuse. An HTML form cannot send JSON.
 */
export function crossSiteFault(request: Asked, origin: string): Fault | null {
  const type = headerOf(request, "content-type") ?? "";
  if (request.method === "POST" && !/^application\/json\s*(;|$)/i.test(type)) {
    return new Fault("CROSS_SITE", { detail: "a change is sent as application/json" });
  }
  const site = headerOf(request, "sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none") return new Fault("CROSS_SITE");
  const from = headerOf(request, "origin");
  if (from === null || from === origin) return null;
  return new Fault("CROSS_SITE");
}

async function callerOf(hub: Hub, request: IncomingMessage): Promise<{ caller: Caller; refusal: Fault | null }> {
  const nobody: Caller = { kind: "nobody" };
  const authorization = headerOf(request, "authorization");
  if (authorization !== null) {
    const secret = /^Bearer ([A-Za-z0-9_-]{16,128})$/.exec(authorization)?.[1];
    if (secret === undefined) return { caller: nobody, refusal: new Fault("NODE_UNKNOWN") };
    try {
      const caller = await (secret.startsWith("tmk_") ? readToken(hub, secret) : readNodeCredential(hub, secret));
      return { caller, refusal: null };
    } catch (error) {
      if (!isFault(error) || databaseFailure(error) !== null) throw error;
      const by = secret.startsWith("tmk_") ? "api-token" : "node-credential";
      await noteRefusal(hub, { by, address: addressOf(request, hub.settings) });
      return { caller: nobody, refusal: error };
    }
  }
  const secret = secretInCookie(originOf(request, hub.settings), request.headers.cookie);
  const session = secret === null ? null : await readSession(hub, hashOf(secret));
  if (session === null) return { caller: nobody, refusal: null };
  return { caller: { kind: "person", person: session.person, sessionHash: session.hash }, refusal: null };
}

/** Returns the caller, or refuses the call when the database does not answer and the caller is unknown. */
async function callerOrRefusal(hub: Hub, request: IncomingMessage): ReturnType<typeof callerOf> {
  try {
    return await callerOf(hub, request);
  } catch (error) {
    const failure = databaseFailure(error);
    if (failure === null) throw error;
    return { caller: { kind: "nobody" }, refusal: new Fault(failure, { cause: error }) };
  }
}

export async function createContext(hub: Hub, request: IncomingMessage, response: ServerResponse): Promise<Context> {
  const origin = originOf(request, hub.settings);
  const address = addressOf(request, hub.settings);
  return {
    hub,
    ...(await asCaller(`at ${address}`, () => callerOrRefusal(hub, request))),
    address,
    agent: headerOf(request, "user-agent") ?? "",
    origin,
    crossSite: crossSiteFault(request, origin),
    setCookie: (value) => response.appendHeader("set-cookie", value),
  };
}

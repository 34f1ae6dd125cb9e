import { initTRPC } from "@trpc/server";
import { Fault, isFault, sentenceOf } from "#protocol/faults/fault.ts";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import { databaseFailure } from "#prisma/database-failure.ts";
import { hasRole, type Role } from "#protocol/wire/requests.ts";
import type { Hub } from "./hub.ts";
import type { Caller } from "./caller.ts";
import { asCaller } from "../../platform/caller-turns.ts";
import { faultDataOf, trpcError } from "./trpc-error.ts";

/**
 * Allows or refuses every call, in one place. Each procedure says in its `meta` who may call it. The guard reads only that,
 * so a procedure without it cannot be called at all. Checks made by the pages do not count.
 */

export type Who = "open" | Role | "node";
export interface Meta {
  who: Who;
  /** Refuses API tokens: the call is about a session, or would grant another way to sign in. */
  needsSession?: true;
}

export interface Context {
  hub: Hub;
  caller: Caller;
  /** The client's address, for throttling and the audit. */
  address: string;
  /** The `User-Agent` header, untrusted. */
  agent: string;
  /** The hub's address as this caller reaches it, for example `https://tidemark.example.com`. */
  origin: string;
  /** Fault of a change that did not come from the hub's own pages: thrown by the guard for every mutation. */
  crossSite: Fault | null;
  /** Fault found while reading the credentials: thrown by the guard, so that it leaves in the usual form. */
  refusal: Fault | null;
  setCookie: (value: string) => void;
}

/** Keep-alive of streams (server-sent events). */
export const SSE = { ping: { intervalMs: 15_000 }, client: { reconnectAfterInactivityMs: 45_000 } } as const;

const t = initTRPC
  .context<Context>()
  .meta<Meta>()
  .create({
    isDev: false,
    sse: { ping: { enabled: true, ...SSE.ping }, client: SSE.client },
    errorFormatter: ({ shape, error }) => {
      const fault = faultDataOf(error);
      return {
        code: shape.code,
        message: sentenceOf(fault),
        data: { code: shape.data.code, httpStatus: FAULTS[fault.code].http, path: shape.data.path ?? null, fault },
      };
    },
  });

/**
 * Checks that the caller may call the procedure. @throws Fault NOT_SIGNED_IN, NODE_UNKNOWN, ROLE_REQUIRED, PERSON_REQUIRED,
 * or the reason the credentials were refused for
 */
function allow(meta: Meta | undefined, context: Pick<Context, "caller" | "refusal">): void {
  const who = meta?.who;
  if (who === "open") return;
  if (context.refusal !== null) throw context.refusal;
  if (who === undefined) throw new Fault("INTERNAL", { detail: "the procedure does not say who may call it" });
  const { caller } = context;
  if (who === "node") {
    if (caller.kind !== "node") throw new Fault("NODE_UNKNOWN");
    return;
  }
  if (caller.kind !== "person" && caller.kind !== "token") throw new Fault("NOT_SIGNED_IN");
  if (meta?.needsSession === true && caller.kind === "token") throw new Fault("PERSON_REQUIRED");
  if (!hasRole(caller.person.role, who)) throw new Fault("ROLE_REQUIRED", { detail: `it needs the role ${who}` });
}

/** Returns the name by which this caller takes turns at the database. Callers without credentials are told apart by network. */
function callerName({ caller, address }: Pick<Context, "caller" | "address">): string {
  switch (caller.kind) {
    case "person":
      return `person ${caller.person.id}`;
    case "token":
      return `token ${caller.tokenId}`;
    case "node":
      return `node ${caller.nodeId}`;
    case "nobody":
      return `at ${address}`;
  }
}

/** Rate limit for failed calls of procedures that are open to everybody, by network. Successful calls are not counted. */
const OPEN_CALLS = { atOnce: 60, perSecond: 2 } as const;

const guarded = t.procedure.use(async ({ ctx, meta, type, path, next }) => {
  let giveBack: (() => void) | null = null;
  try {
    if (type === "mutation" && ctx.crossSite !== null) throw ctx.crossSite;
    allow(meta, ctx);
    // The limit has to apply before the body is read and parsed.
    if (meta?.who === "open" && type === "mutation")
      giveBack = ctx.hub.throttle.spend(`open:${ctx.address}`, OPEN_CALLS);
  } catch (error) {
    throw isFault(error) ? trpcError(error) : error;
  }
  const leave = ctx.hub.loop.enter(path);
  const result = await asCaller(callerName(ctx), next).finally(leave);
  if (result.ok) giveBack?.();
  if (result.ok) return result;
  const { cause } = result.error;
  const failure = databaseFailure(cause);
  if (failure !== null) throw trpcError(new Fault(failure, { cause }));
  if (isFault(cause)) throw trpcError(cause);
  return result;
});

const forPeople = (role: Role) =>
  guarded.meta({ who: role }).use(({ ctx, next }) => {
    const { caller } = ctx;
    if (caller.kind !== "person" && caller.kind !== "token") throw trpcError(new Fault("NOT_SIGNED_IN"));
    return next({ ctx: { ...ctx, caller: { ...caller, address: ctx.address } } });
  });

const forSessions = (role: Role) =>
  guarded.meta({ who: role, needsSession: true }).use(({ ctx, next }) => {
    if (ctx.caller.kind !== "person") throw trpcError(new Fault("NOT_SIGNED_IN"));
    return next({ ctx: { ...ctx, caller: { ...ctx.caller, address: ctx.address } } });
  });

export const router = t.router;
export const open = guarded.meta({ who: "open" });
export const viewer = forPeople("viewer");
export const operator = forPeople("operator");
export const admin = forPeople("admin");
/** The same roles for sessions of a browser only, without API tokens. */
export const viewerHere = forSessions("viewer");
export const adminHere = forSessions("admin");
export const node = guarded.meta({ who: "node" }).use(({ ctx, next }) => {
  if (ctx.caller.kind !== "node") throw trpcError(new Fault("NODE_UNKNOWN"));
  return next({ ctx: { ...ctx, caller: ctx.caller } });
});

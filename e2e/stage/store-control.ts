import { z } from "zod";

/** Uses the control interface of the embedded store, which reports requests and injects faults. */

const counters = z.object({
  requests: z.number(),
  receivedBytes: z.number(),
  sentBytes: z.number(),
  inFlight: z.number(),
  connectionsOpened: z.number(),
  maxInFlight: z.number(),
  targets: z.array(
    z.object({
      operation: z.string(),
      key: z.string(),
      partNumber: z.number().optional(),
      requests: z.number(),
      succeeded: z.number(),
      receivedBytes: z.number(),
    }),
  ),
});
export type Counters = z.infer<typeof counters>;

interface Controlled {
  endpoint: string;
  control: string | null;
}

async function ask(store: Controlled, at: { method: string; path: string; body?: unknown }): Promise<unknown> {
  const response = await fetch(`${store.endpoint}/_control${at.path}`, {
    method: at.method,
    headers: { authorization: `Bearer ${store.control}` },
    ...(at.body === undefined ? {} : { body: JSON.stringify(at.body) }),
  });
  if (!response.ok) throw new Error(`store control ${at.method} ${at.path}: ${await response.text()}`);
  return response.json();
}

/** Returns the requests so far, of one operation or of all. */
export const readCounters = async (store: Controlled, operation?: string): Promise<Counters> =>
  counters.parse(
    await ask(store, { method: "GET", path: `/counters${operation === undefined ? "" : `?op=${operation}`}` }),
  );

/** Arms a fault; store/fault-rules.ts defines the rules. */
export const armFault = (store: Controlled, rule: object): Promise<unknown> =>
  ask(store, { method: "POST", path: "/rules", body: rule });

export const clearFaults = (store: Controlled): Promise<unknown> => ask(store, { method: "DELETE", path: "/rules" });

const armed = z.object({ rules: z.array(z.object({ id: z.string(), fired: z.number() })) });

/** Returns the armed faults and how often each occurred. */
export const readFaults = async (store: Controlled): Promise<{ id: string; fired: number }[]> =>
  armed.parse(await ask(store, { method: "GET", path: "/rules" })).rules;

const log = z.object({
  requests: z.array(
    z.object({
      atMs: z.number(),
      durationMs: z.number(),
      operation: z.string(),
      key: z.string(),
      partNumber: z.number().optional(),
      status: z.number(),
      receivedBytes: z.number(),
      sentBytes: z.number(),
      faults: z.array(z.string()),
      headerNames: z.array(z.string()),
    }),
  ),
});
export type LoggedRequest = z.infer<typeof log>["requests"][number];

/** Returns every request since the counters were reset, in the order of their ends. */
export const readLog = async (store: Controlled): Promise<LoggedRequest[]> =>
  log.parse(await ask(store, { method: "GET", path: "/log" })).requests;

export const resetCounters = (store: Controlled): Promise<unknown> =>
  ask(store, { method: "DELETE", path: "/counters" });

/** Shifts the store's clock. */
export const setClock = (store: Controlled, offsetMs: number): Promise<unknown> =>
  ask(store, { method: "PUT", path: "/clock", body: { offsetMs } });

/** Adds a key pair; a temporary one has a token and an expiry. */
export const addCredential = (
  store: Controlled,
  credential: { accessKey: string; secretKey: string; sessionToken?: string; expiresAtMs?: number },
): Promise<unknown> => ask(store, { method: "PUT", path: "/credentials", body: credential });

export const removeCredential = (store: Controlled, accessKey: string): Promise<unknown> =>
  ask(store, { method: "DELETE", path: `/credentials/${accessKey}` });

import { createTRPCClient, httpLink, httpSubscriptionLink, splitLink, TRPCClientError } from "@trpc/client";
import { EventSource } from "eventsource";
import { faultData } from "#protocol/faults/fault-data.ts";
import { Fault, faultFrom, isFault } from "#protocol/faults/fault.ts";
import type { RunName } from "#protocol/base/names.ts";
import { FAULTS, type FaultCode } from "#protocol/faults/fault-table.ts";
import { networkFetch } from "#storage/network/fetch.ts";
import type { HubRouter } from "#server/router.ts";
import { codeOf } from "../base/disk-fault.ts";
import { describeHub } from "./hub-address.ts";

/**
 * Client of the hub. Every call ends with a value or one Fault; the credential is sent only in a header. Calls are not
 * retried here, because only the caller knows whether its call can wait.
 */
export interface Hub {
  /** Makes one call. @throws Faults of the procedure, HUB_UNREACHABLE, HUB_NOT_TIDEMARK, CANCELLED */
  ask<T>(op: string, work: Work<T>): Promise<T>;
  /** Opens the live stream to this node. The returned function closes it. */
  openStream(input: { bootId: string }, told: StreamHandlers): () => void;
  /** Whether the last call reached the hub. */
  readonly isUp: boolean;
  /** Says for a person what is asked and whether it answers: `the hub answers (https://hub.example)`. */
  describe(): string;
  /** Lists other nodes that write below the same prefix without a hub, as they were found last. None with a hub, which knows them. */
  otherWriters(): readonly { run: string; node: string }[];
  /**
   * Without a hub: announces a restore to the other nodes, so that none deletes the checkpoint, until the returned function is
   * called. A hub knows its restores. @throws Fault NOT_FOUND when the checkpoint is being deleted, those of the store
   */
  readonly announceRestore?: (about: { run: RunName; checkpointId: string }) => Promise<() => Promise<void>>;
}

type Work<T> = (client: HubClient, signal: AbortSignal) => Promise<T>;
/** Procedures that a node may call, at a hub or at its local replacement without one (`worker/standalone`). */
export interface HubClient {
  readonly node: { readonly [Name in Exclude<keyof NodeProcedures, "stream">]: Call<NodeProcedures[Name]> };
}
type NodeProcedures = ReturnType<typeof createClient>["node"];
/** The signature of a procedure without the library's types for errors. */
type Call<Procedure> = Procedure extends { mutate: (...args: infer Args) => Promise<infer Answer> }
  ? { mutate: (...args: Args) => Promise<Answer> }
  : Procedure extends { query: (...args: infer Args) => Promise<infer Answer> }
    ? { query: (...args: Args) => Promise<Answer> }
    : never;

/** Callbacks of a stream. */
export interface StreamHandlers {
  onData(data: unknown): void;
  onError(error: unknown): void;
  onComplete(): void;
  /** `state`: `idle`, `connecting` or `pending` (it is open). */
  onConnectionStateChange(change: { state: string; error: unknown }): void;
}

const CALL_MS = 30_000;
/** Timeout of slow calls: commits and confirmations list a bucket, an announcement may name fifty thousand files. */
const SLOW_MS = 180_000;
const SLOW: ReadonlySet<string> = new Set([
  "commit",
  "commitCopy",
  "announce",
  "readCheckpoint",
  "tellSums",
  "confirmComplete",
]);

function createClient(base: string, credential: () => string | null) {
  const url = `${base}/api/trpc`;
  const headers = (): Record<string, string> => {
    const secret = credential();
    return secret === null ? {} : { authorization: `Bearer ${secret}` };
  };
  return createTRPCClient<HubRouter>({
    links: [
      splitLink({
        condition: (operation) => operation.type === "subscription",
        true: httpSubscriptionLink({
          url,
          EventSource,
          eventSourceOptions: {
            fetch: (address, init) =>
              networkFetch(address, { ...init, redirect: "error", headers: { ...init.headers, ...headers() } }),
          },
        }),
        false: httpLink({
          url,
          headers,
          fetch: async (address, init) => onlyJson(await networkFetch(address, asInit(init)), base),
        }),
      }),
    ],
  });
}

/** Makes a redirect an error, because it could send the credential to another host. */
const asInit = (
  init: { method?: string; body?: unknown; headers?: unknown; signal?: unknown } | undefined,
): RequestInit => ({ ...init, redirect: "error" }) as RequestInit;

/** Statuses with which a reverse proxy reports that its hub is not available. */
const AWAY: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Passes JSON responses. Any other comes from something else than a hub. @throws Fault as `notSaidByHub` */
function onlyJson(response: Response, base: string): Response {
  if (response.headers.get("content-type")?.includes("json") === true) return response;
  void response.body?.cancel();
  throw notSaidByHub(base, response.status);
}

/** Returns the Fault for an answer that does not come from a hub. */
export function notSaidByHub(base: string, status: number): Fault {
  const code = AWAY.has(status) ? "HUB_UNREACHABLE" : "HUB_NOT_TIDEMARK";
  return new Fault(code, { subject: base, status, detail: `HTTP ${status}` });
}

export interface HubOptions {
  credential: () => string | null;
  signal: AbortSignal;
  /** Called when the hub does not know the credential `used`. True: another one is available, and the call is repeated. */
  takeOther?(used: string | null): Promise<boolean>;
}

export function connectHub(base: string, options: HubOptions): Hub {
  const client = createClient(base, options.credential);
  let isUp = false;
  return {
    openStream: (input, told) => {
      const subscription = client.node.stream.subscribe(input, told);
      return () => subscription.unsubscribe();
    },
    get isUp() {
      return isUp;
    },
    describe: () => describeHub({ url: base, isUp }),
    otherWriters: () => [],
    ask: async (op, work) => {
      const used = options.credential();
      try {
        return await once(op, work);
      } catch (error) {
        const isRefused = isFault(error) && error.code === "NODE_UNKNOWN";
        if (!isRefused || (await options.takeOther?.(used)) !== true) throw error;
        return once(op, work);
      }
    },
  };

  async function once<T>(op: string, work: Work<T>): Promise<T> {
    const limit = AbortSignal.timeout(SLOW.has(op) ? SLOW_MS : CALL_MS);
    try {
      const result = await work(client, AbortSignal.any([limit, options.signal]));
      isUp = true;
      return result;
    } catch (error) {
      if (options.signal.aborted) throw new Fault("CANCELLED", { op });
      const fault = hubFault(error, { op, base });
      isUp = fault.code !== "HUB_UNREACHABLE" && fault.code !== "HUB_NOT_TIDEMARK";
      throw fault;
    }
  }
}

/** Procedures for people that commands of this worker call, with an API token. */
export type PeopleClient = Pick<ReturnType<typeof createClient>, "jobs" | "groups">;

/** Makes one call to a hub for a person. @throws Faults of the procedure, HUB_UNREACHABLE, HUB_NOT_TIDEMARK, CANCELLED */
export async function askAsPerson<T>(
  { base, token, signal }: { base: string; token: string; signal: AbortSignal },
  op: string,
  work: (client: PeopleClient, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await work(
      createClient(base, () => token),
      AbortSignal.any([AbortSignal.timeout(SLOW_MS), signal]),
    );
  } catch (error) {
    if (signal.aborted) throw new Fault("CANCELLED", { op });
    throw hubFault(error, { op, base });
  }
}

/** Returns the error of a call to the hub as a Fault. */
export function hubFault(error: unknown, about: { op: string; base: string }): Fault {
  const { op, base } = about;
  const own = faultInside(error);
  if (own !== null) return PROXY.has(own.code) ? unreachable(own, { op, base }) : own;
  const carried = error instanceof TRPCClientError ? faultData.safeParse(carriedFault(error)) : null;
  if (carried?.success === true) return faultFrom(carried.data, op);
  const status = statusOf(error);
  if (status !== null && !AWAY.has(status)) {
    return new Fault("HUB_NOT_TIDEMARK", { op, subject: base, status, cause: error });
  }
  const detail = status === null ? networkCode(error) : `HTTP ${status}`;
  return new Fault("HUB_UNREACHABLE", { op, subject: base, ...(detail === null ? {} : { detail }), cause: error });
}

const PROXY: ReadonlySet<FaultCode> = new Set(["PROXY_LOGIN", "PROXY_REFUSED", "PROXY_FAILED"]);

/** Makes a proxy's Fault HUB_UNREACHABLE, so that callers wait for the hub; the detail names the proxy as the cause. */
function unreachable(fault: Fault, { op, base }: { op: string; base: string }): Fault {
  const { says } = FAULTS[fault.code];
  const { detail = "" } = fault.context;
  const why = `${says.replace(/\.$/, "").replace(/^The/, "the")}: ${detail}`;
  return new Fault("HUB_UNREACHABLE", { op, subject: base, detail: why, cause: fault });
}

function faultInside(error: unknown): Fault | null {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 6; at = at.cause, depth++) {
    if (isFault(at)) return at;
  }
  return null;
}

function carriedFault(error: TRPCClientError<HubRouter>): unknown {
  const data: unknown = error.data;
  return typeof data === "object" && data !== null && "fault" in data ? data.fault : undefined;
}

function statusOf(error: unknown): number | null {
  if (!(error instanceof TRPCClientError)) return null;
  const response: unknown = error.meta?.["response"];
  if (typeof response === "object" && response !== null && "status" in response) {
    return typeof response.status === "number" ? response.status : null;
  }
  return null;
}

function networkCode(error: unknown): string | null {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 6; at = at.cause, depth++) {
    const code = codeOf(at);
    if (code !== null && !code.startsWith("UND_")) return code;
    if (at.name === "TimeoutError") return "no answer in time";
  }
  return null;
}

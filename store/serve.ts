/**
 * Serves one request: route, faults, signature, work, answer, record. Whatever fails, the client gets an S3 error or a
 * closed connection, and the store keeps running.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { checkStrictSigning, headersUnderQuirks, riskyPartsOf } from "./apply-quirks.ts";
import { authenticate, type Identity } from "./authenticate.ts";
import { httpDate, sweep, type Call, type Store } from "./call.ts";
import { abortUpload } from "./catalog-uploads.ts";
import { crossOrigin, preflight, type RuleSources } from "./cross-origin.ts";
import type { CredentialBook } from "./credentials.ts";
import {
  beforeWork,
  changeReply,
  dateShift,
  framingOf,
  newRequestId,
  shapeHeaders,
  shapeRequest,
  shapeResponse,
  type FaultScene,
} from "./fault-apply.ts";
import type { FaultBook } from "./fault-match.ts";
import { ConnectionCut, type StallRoom } from "./fault-streams.ts";
import { HANDLERS } from "./handlers.ts";
import { createPacer, paced, type Pacer } from "./pace.ts";
import { readRequest, type S3Request } from "./request.ts";
import { errorReply, type Reply } from "./reply.ts";
import { operationOf, type Operation } from "./route.ts";
import { S3Error } from "./s3-error.ts";
import { sendReply, type SendOptions } from "./send.ts";
import type { Traffic } from "./traffic.ts";

/** A running store with everything that requests use. */
export type Runtime = {
  readonly store: Store;
  readonly credentials: CredentialBook;
  readonly faults: FaultBook;
  readonly stalls: StallRoom;
  readonly traffic: Traffic;
  readonly origins: RuleSources;
  readonly domain: string | undefined;
  readonly up: Pacer | undefined;
  readonly down: Pacer | undefined;
  readonly connectionOf: (socket: Socket) => number;
  readonly pacersOf: (socket: Socket) => Map<string, Pacer>;
  /** Receives internal errors of the store. */
  readonly report: (error: unknown) => void;
};

/** Both ends of one exchange. `expectsContinue`: the client waits for `100 Continue` before it sends its body. */
export type Wire = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly expectsContinue: boolean;
};

type Exchange = {
  readonly wire: Wire;
  readonly head: S3Request;
  readonly operation: Operation;
  readonly scene: FaultScene;
  readonly body: () => AsyncIterable<Buffer>;
  /** Returns whether the client was asked to send its body. If not, it may omit the body, so the connection must end. */
  readonly continued: () => boolean;
};

/** Reads the body without closing the connection when a reader stops early; sends `100 Continue` at the first read. */
function bodyReader(
  runtime: Runtime,
  wire: Wire,
  count: (bytes: number) => void,
): { readonly read: () => AsyncIterable<Buffer>; readonly continued: () => boolean } {
  let continued = !wire.expectsContinue;
  async function* bytes(): AsyncGenerator<Buffer> {
    if (!continued) {
      continued = true;
      if (runtime.store.quirks.noContinue === "off") wire.response.writeContinue();
    }
    const chunks = wire.request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    for await (const chunk of chunks) {
      count(chunk.length);
      yield chunk;
    }
  }
  const read = (): AsyncIterable<Buffer> => (runtime.up === undefined ? bytes() : paced(bytes(), [runtime.up]));
  return { read, continued: () => continued };
}

function identify(runtime: Runtime, head: S3Request): Identity {
  const { quirks, now } = runtime.store;
  checkStrictSigning(quirks, head);
  return authenticate(head, { credentials: runtime.credentials, nowMs: now(), region: quirks.region });
}

async function work(runtime: Runtime, exchange: Exchange): Promise<Reply> {
  const { head, operation, scene } = exchange;
  const instead = await beforeWork(scene);
  if (instead !== undefined) return instead;
  if (operation === "Preflight") return preflight(runtime.origins, head);
  const identity = identify(runtime, head);
  const call: Call = {
    request: head,
    identity,
    headers: headersUnderQuirks(runtime.store.quirks, shapeHeaders(scene, identity.headers)),
    bucket: head.bucket ?? "",
    key: head.key ?? "",
    body: () => shapeRequest(scene, exchange.body()),
  };
  return changeReply(scene, await HANDLERS[operation](runtime.store, call));
}

function refuse(runtime: Runtime, error: unknown, fields: Readonly<Record<string, string>>): Reply {
  if (error instanceof S3Error) return errorReply(error, fields);
  runtime.report(error);
  return errorReply(new S3Error("InternalError", "We encountered an internal error. Please try again."), fields);
}

function isDisconnect(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ECONNRESET" || code === "ERR_STREAM_PREMATURE_CLOSE" || code === "EPIPE";
}

function partNumberOf(head: S3Request): number | undefined {
  const number = Number(head.query.get("partNumber") ?? Number.NaN);
  return Number.isInteger(number) ? number : undefined;
}

function sceneFor(
  runtime: Runtime,
  wire: Wire,
  given: { head: S3Request; operation: Operation; inFlight: number; readAll: () => Promise<void> },
): FaultScene {
  const { head, operation } = given;
  const { store } = runtime;
  const bucket = head.bucket ?? "";
  const key = head.key ?? "";
  const gone = new AbortController();
  wire.response.once("close", () => gone.abort());
  return {
    fired: runtime.faults.match({ operation, bucket, key, partNumber: partNumberOf(head) }),
    stalls: runtime.stalls,
    gone: gone.signal,
    requestId: newRequestId(),
    inFlight: given.inFlight,
    readAll: given.readAll,
    presigned: head.query.has("X-Amz-Signature") ? "presigned" : "header",
    loseUpload: () => {
      sweep(store, abortUpload(store.database, { bucket, key, id: head.query.get("uploadId") ?? "" }));
    },
    pacerFor: (ruleId, bytesPerSecond) => {
      const pacers = runtime.pacersOf(wire.request.socket);
      const pacer = pacers.get(ruleId) ?? createPacer(bytesPerSecond);
      pacers.set(ruleId, pacer);
      return pacer;
    },
  };
}

/** Returns the headers of every answer. */
function commonHeaders(
  runtime: Runtime,
  scene: FaultScene,
  { response, reply }: { response: ServerResponse; reply: Reply },
): Record<string, string> {
  const { shiftMs, header } = dateShift(scene);
  response.sendDate = false;
  const date: Record<string, string> = header === "hide" ? {} : { date: httpDate(runtime.store.now() + shiftMs) };
  if (reply.isForeign === true) return { ...date, server: "gateway" };
  return {
    ...date,
    "x-amz-request-id": scene.requestId,
    "x-amz-id-2": scene.requestId.toLowerCase(),
    server: "tidemark-store",
  };
}

async function answer(
  runtime: Runtime,
  exchange: Exchange,
  sending: Pick<SendOptions, "count" | "ending">,
): Promise<void> {
  const { wire, head, scene } = exchange;
  const fields = {
    Resource: `/${head.bucket ?? ""}${head.key === undefined ? "" : `/${head.key}`}`,
    RequestId: scene.requestId,
  };
  let reply: Reply;
  try {
    reply = await work(runtime, exchange);
  } catch (error) {
    if (error instanceof ConnectionCut || isDisconnect(error)) throw error;
    reply = refuse(runtime, error, fields);
  }
  const headers = {
    ...commonHeaders(runtime, scene, { response: wire.response, reply }),
    ...crossOrigin(runtime.origins, head),
    ...reply.headers,
  };
  const { down } = runtime;
  // Setting this header explicitly stops Node from adding a Keep-Alive header with the timeout.
  if (runtime.store.quirks.hideKeepAlive === "on" && exchange.continued())
    wire.response.setHeader("connection", "keep-alive");
  if (!exchange.continued()) wire.response.shouldKeepAlive = false;
  await sendReply(
    wire.response,
    { ...reply, headers },
    {
      method: head.method,
      framing: framingOf(scene),
      ...sending,
      shape: (bytes) => shapeResponse(scene, down === undefined ? bytes : paced(bytes, [down])),
    },
  );
}

/** Serves one S3 request completely; never rejects. */
export async function serveRequest(runtime: Runtime, wire: Wire): Promise<void> {
  const { request, response } = wire;
  const { traffic, store } = runtime;
  const startedMs = performance.now();
  const inFlight = traffic.requestBegan();
  let receivedBytes = 0;
  let sentBytes = 0;
  let head: S3Request = {
    method: request.method ?? "GET",
    rawPath: "/",
    rawQuery: "",
    bucket: undefined,
    key: undefined,
    query: new Map(),
    headers: new Map(),
  };
  let operation: Operation = "Unknown";
  let scene: FaultScene | undefined;
  const answered: { record: (() => void) | null } = { record: null };
  const ending = (): void => {
    answered.record ??= traffic.answered();
  };
  const body = bodyReader(runtime, wire, (bytes) => {
    receivedBytes += bytes;
  });
  try {
    let problem: unknown;
    try {
      const { domain } = runtime;
      head = readRequest({ method: head.method, url: request.url ?? "/", headers: request.headersDistinct, domain });
      operation = operationOf(head);
    } catch (error) {
      problem = error;
    }
    const readAll = async (): Promise<void> => {
      for await (const _ of body.read()) continue;
    };
    scene = sceneFor(runtime, wire, { head, operation, inFlight, readAll });
    const read = (): AsyncIterable<Buffer> => {
      if (problem !== undefined) throw problem;
      return body.read();
    };
    const exchange: Exchange = { wire, head, operation, scene, body: read, continued: body.continued };
    if (problem !== undefined) throw problem;
    response.once("finish", () => {
      if (!request.complete) request.resume();
    });
    const count = (bytes: number): void => {
      sentBytes += bytes;
    };
    await answer(runtime, exchange, { count, ending });
  } catch (error) {
    await endBadly(runtime, wire, { error, ending });
  } finally {
    traffic.requestEnded({
      atMs: store.now(),
      durationMs: performance.now() - startedMs,
      operation,
      bucket: head.bucket ?? "",
      key: head.key ?? "",
      partNumber: partNumberOf(head),
      status: response.headersSent ? response.statusCode : 0,
      receivedBytes,
      sentBytes,
      connection: runtime.connectionOf(request.socket),
      faults: scene?.fired.map((fired) => fired.id) ?? [],
      headerNames: [...head.headers.keys()],
      risky: riskyPartsOf(head),
    });
    answered.record?.();
  }
}

/** Ends an exchange that failed: answers an unreadable request with an error, or resets the connection. */
async function endBadly(
  runtime: Runtime,
  wire: Wire,
  { error, ending }: { error: unknown } & Pick<SendOptions, "ending">,
): Promise<void> {
  const { response, request } = wire;
  if (error instanceof S3Error && !response.headersSent) {
    const reply = errorReply(error, { RequestId: newRequestId() });
    response.shouldKeepAlive = false;
    const options = {
      method: request.method ?? "GET",
      framing: "length",
      count: () => undefined,
      ending,
      shape: (bytes: AsyncIterable<Buffer>) => bytes,
    } as const;
    await sendReply(response, reply, options).catch(() => undefined);
    return;
  }
  if (!(error instanceof ConnectionCut) && !isDisconnect(error)) runtime.report(error);
  request.socket.resetAndDestroy();
}

/** Starts and stops a store: opens its folder, repairs it after a crash, and listens on loopback or the configured address. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { openBlobs } from "./blobs.ts";
import type { Store } from "./call.ts";
import { blobIsUsed, createBucket, forgetGarbage, garbageBlobs } from "./catalog-objects.ts";
import type { StoreConfig } from "./config.ts";
import { answerControl, type ControlParts } from "./control.ts";
import { openRule } from "./cors.ts";
import type { CredentialBook } from "./credentials.ts";
import { openDatabase } from "./database.ts";
import { fillBucket } from "./fill.ts";
import { openFaultBook } from "./fault-match.ts";
import { openStallRoom } from "./fault-streams.ts";
import { createPacer, type Pacer } from "./pace.ts";
import { queryPairs } from "./request.ts";
import { serveRequest, type Runtime, type Wire } from "./serve.ts";
import { openTraffic } from "./traffic.ts";

/** A store that is listening. */
export type RunningStore = {
  readonly port: number;
  readonly endpoint: string;
  /** Stops accepting, waits at most `graceMs` for requests in flight, closes the index. */
  readonly stop: (graceMs?: number) => Promise<void>;
};

/** Clock and error reporting, supplied by the caller. */
export type StoreSurroundings = {
  readonly nowMs: () => number;
  /** Receives internal errors of the store. */
  readonly report: (error: unknown) => void;
};

const MAX_CONTROL_BODY_BYTES = 1024 * 1024;
const STREAM_BUFFER_BYTES = 512 * 1024;

async function openStore(config: StoreConfig, now: () => number): Promise<Store> {
  const blobs = await openBlobs(config.dataFolder, config.durability);
  const database = openDatabase(join(config.dataFolder, "index.sqlite"), config.durability);
  await blobs.recover((blob) => blobIsUsed(database, blob));
  forgetGarbage(database, await blobs.remove(garbageBlobs(database)));
  for (const name of config.buckets) createBucket(database, { name, createdMs: now() });
  const [first] = config.buckets;
  if (first !== undefined) {
    for (const fill of config.fills) fillBucket(database, { bucket: first, fill, modifiedMs: now() });
  }
  return { database, blobs, quirks: config.quirks, now, cleaning: new Set() };
}

async function serveControl(parts: ControlParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes <= MAX_CONTROL_BODY_BYTES) chunks.push(chunk);
  }
  // A client that has its answer and then asks for counters must find its request counted.
  await parts.traffic.recorded();
  const [path = "", query = ""] = (request.url ?? "").split("?");
  const answer = answerControl(parts, {
    method: request.method ?? "GET",
    path: path.slice("/_control".length),
    query: new Map(queryPairs(query)),
    authorization: request.headers.authorization,
    body: Buffer.concat(chunks).toString("utf8"),
  });
  const text = JSON.stringify(answer.json);
  response.writeHead(answer.status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  response.end(text);
}

/** Starts a store. Rejects with the system's error when folder or port cannot be used. */
export async function startStore(config: StoreConfig, surroundings: StoreSurroundings): Promise<RunningStore> {
  const clock = { offsetMs: 0 };
  const now = (): number => surroundings.nowMs() + clock.offsetMs;
  const store = await openStore(config, now);
  const credentials: CredentialBook = new Map([
    [config.accessKey, { accessKey: config.accessKey, secretKey: config.secretKey }],
  ]);
  const connections = new Map<Socket, number>();
  const controlling = new WeakSet<Socket>();
  const pacers = new WeakMap<Socket, Map<string, Pacer>>();
  const runtime: Runtime = {
    store,
    credentials,
    faults: openFaultBook(),
    stalls: openStallRoom(),
    traffic: openTraffic(config.controlToken === undefined ? "off" : "on"),
    origins: { database: store.database, corsRules: config.corsOrigins.map(openRule) },
    domain: config.domain,
    up: config.upBytesPerSecond === undefined ? undefined : createPacer(config.upBytesPerSecond),
    down: config.downBytesPerSecond === undefined ? undefined : createPacer(config.downBytesPerSecond),
    connectionOf: (socket) => connections.get(socket) ?? 0,
    pacersOf: (socket) => {
      const known = pacers.get(socket) ?? new Map<string, Pacer>();
      pacers.set(socket, known);
      return known;
    },
    report: surroundings.report,
  };
  const control: ControlParts | undefined =
    config.controlToken === undefined
      ? undefined
      : {
          token: config.controlToken,
          faults: runtime.faults,
          stalls: runtime.stalls,
          traffic: runtime.traffic,
          credentials,
          clock,
          resetConnections: () => {
            const doomed = [...connections.keys()].filter((socket) => !controlling.has(socket));
            for (const socket of doomed) socket.resetAndDestroy();
            return doomed.length;
          },
        };

  const serve = (wire: Wire): void => {
    const { request, response } = wire;
    if (control !== undefined && request.url?.startsWith("/_control/") === true) {
      controlling.add(request.socket);
      if (wire.expectsContinue) response.writeContinue();
      serveControl(control, request, response).catch(surroundings.report);
      return;
    }
    void serveRequest(runtime, wire);
  };
  const server = createServer({ highWaterMark: STREAM_BUFFER_BYTES, noDelay: true, requestTimeout: 0 });
  server.keepAliveTimeout = config.quirks.keepAliveMs;
  if (config.quirks.hideKeepAlive === "on") server.keepAliveTimeoutBuffer = 0;
  server.on("request", (request, response) => serve({ request, response, expectsContinue: false }));
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    serve({ request, response, expectsContinue: true });
  });
  server.on("connection", (socket) => {
    connections.set(socket, runtime.traffic.connectionOpened());
    socket.once("close", () => {
      connections.delete(socket);
      runtime.traffic.connectionClosed();
    });
  });
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(config.port, config.host, () => resolve());
    });
  } catch (error) {
    store.database.close();
    throw error;
  }
  const { port } = server.address() as AddressInfo;
  const host = config.host.includes(":") ? `[${config.host}]` : config.host;
  return {
    port,
    endpoint: `http://${host}:${port}`,
    async stop(graceMs = 5000) {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      runtime.stalls.release();
      server.closeIdleConnections();
      const timer = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearTimeout(timer);
      await Promise.all(store.cleaning);
      store.database.close();
    },
  };
}

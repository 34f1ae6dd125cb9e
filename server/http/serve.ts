import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Fault } from "#protocol/faults/fault.ts";
import { OLDEST_ACCEPTED_PROTOCOL, PRODUCT_VERSION, PROTOCOL_VERSION } from "#protocol/base/version.ts";
import { countAnswer } from "../platform/counters.ts";
import type { Hub } from "../core/api/hub.ts";
import { describeApi } from "./openapi/describe-api.ts";
import { isKelpiePath, serveKelpie } from "./kelpie.ts";
import { metricsText } from "./metrics.ts";
import { createApi } from "./api.ts";
import { API_PATH } from "../platform/api-path.ts";
import type { Pages } from "./pages.ts";
import { createReadiness } from "./readiness.ts";
import { refuseMetrics } from "./refuse-metrics.ts";
import { isNormalPath } from "../platform/normal-path.ts";
import { hardenAnswer } from "./security-headers.ts";

/**
 * The hub's HTTP server: the API and its description, /kelpie, /metrics, /healthz and /readyz; everything else is a page. On shutdown, open
 * streams tell their clients to reconnect, running answers are finished, and lingering connections are cut.
 */

export interface Served {
  /** URL that opens the hub on this machine. */
  url: string;
  /** Stops the server within `graceMs`. */
  close: (graceMs: number) => Promise<void>;
}

const RETRY_MS = 100;
const SWEEP_MS = 50;

function listenOnce(server: Server, port: number, host: string): Promise<NodeJS.ErrnoException | null> {
  return new Promise((resolve) => {
    const done = (error: NodeJS.ErrnoException | null) => {
      server.removeListener("error", done);
      resolve(error);
    };
    server.once("error", done);
    server.listen({ port, host }, () => done(null));
  });
}

/** Listens on the port; waits a while for a hub that was just killed to release it. @throws Fault PORT_IN_USE, BAD_INPUT */
async function listen(server: Server, hub: Hub, waitMs: number): Promise<void> {
  const { port, host } = hub.settings;
  const until = Date.now() + waitMs;
  for (;;) {
    const error = await listenOnce(server, port, host);
    if (error === null) return;
    if (error.code !== "EADDRINUSE") {
      throw new Fault("BAD_INPUT", { op: "listen", subject: `${host}:${port}`, detail: error.code ?? error.message });
    }
    if (Date.now() >= until) throw new Fault("PORT_IN_USE", { op: "listen", subject: `${host}:${port}` });
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

const urlOf = (server: Server, host: string): string => {
  const { port } = server.address() as AddressInfo;
  const shown = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
  return `http://${shown}:${port}`;
};

/** Tells which workers fit this hub, and nothing that an attacker could use. */
const HEALTH = {
  ok: true,
  version: PRODUCT_VERSION,
  protocol: PROTOCOL_VERSION,
  oldestProtocol: OLDEST_ACCEPTED_PROTOCOL,
} as const;

function answerJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(JSON.stringify(body));
}

async function answerMetrics(hub: Hub, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const refused = refuseMetrics(hub.settings.metrics, request);
  const text = refused === null ? await metricsText(hub) : "";
  const type = refused === null ? "text/plain; version=0.0.4; charset=utf-8" : "text/plain";
  const challenge = refused === 401 ? { "www-authenticate": "Bearer" } : {};
  response.writeHead(refused ?? 200, { "content-type": type, "cache-control": "no-store", ...challenge });
  response.end(text);
}

/** Starts the server. @throws Fault PORT_IN_USE, BAD_INPUT (an address that cannot be listened on) */
export async function serve(hub: Hub, pages: Pages, portWaitMs: number): Promise<Served> {
  const api = createApi(hub);
  const description = JSON.stringify(describeApi());
  const ready = createReadiness(hub);
  const server = createServer((request, response) => {
    hardenAnswer(hub, response);
    if (hub.closing.aborted) response.setHeader("connection", "close");
    response.on("finish", () => countAnswer(hub.counters, response.statusCode));
    const path = request.url ?? "/";
    if (!isNormalPath(path)) {
      response.writeHead(400, { "content-type": "text/plain", "cache-control": "no-store" }).end("No such path.\n");
      return;
    }
    if (path.startsWith(API_PATH)) {
      api(request, response);
      return;
    }
    if (path === "/healthz") {
      answerJson(response, 200, HEALTH);
      return;
    }
    if (path === "/api/openapi.json") {
      response.writeHead(200, { "content-type": "application/json", "cache-control": "no-cache" });
      response.end(description);
      return;
    }
    const answer =
      path === "/metrics"
        ? answerMetrics(hub, request, response)
        : path === "/readyz"
          ? ready().then((missing) =>
              answerJson(response, missing.length === 0 ? 200 : 503, { ready: missing.length === 0, missing }),
            )
          : isKelpiePath(path)
            ? serveKelpie(hub, request, response)
            : pages(request, response);
    answer.catch((error: unknown) => {
      hub.log.error({ error, path: path.split("?", 1)[0] }, "a page failed");
      if (!response.headersSent) response.writeHead(500, { "content-type": "text/plain" });
      response.end();
    });
  });
  server.on("upgrade", (_request, socket) => socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n"));
  server.keepAliveTimeout = 65_000;
  await listen(server, hub, portWaitMs);
  return {
    url: urlOf(server, hub.settings.host),
    close: (graceMs) =>
      new Promise((resolve) => {
        const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
        const cut = setTimeout(() => server.closeAllConnections(), graceMs);
        server.close(() => {
          clearInterval(sweep);
          clearTimeout(cut);
          resolve();
        });
      }),
  };
}

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, request as ask, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import { createInterface } from "node:readline";
import { z } from "zod";
import { answerLookup } from "./answer-lookup.ts";
import { kindOf, type FarEvent } from "./timeline.ts";

/**
 * The far end of the link: a resolver, and TLS in front of a store. Reports every lookup, connection, request and first byte of
 * payload when it arrives, one line of JSON each. A line on stdin requests a mark.
 */

const given = z
  .object({ address: z.string(), port: z.number(), storePort: z.number(), certFile: z.string(), keyFile: z.string() })
  .parse(JSON.parse(process.argv[2] ?? "null"));
const { address, port, storePort } = given;

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
const tell = (event: FarEvent): void => void process.stdout.write(`${JSON.stringify(event)}\n`);

const agent = new Agent({ keepAlive: true });

/** Forwards a request unchanged: its signature covers the host that it was sent to. */
function passOn(came: IncomingMessage, answer: ServerResponse): void {
  const { method = "GET", url: path = "/" } = came;
  const kind = kindOf(method, path);
  tell({ kind: "request", atMs: nowMs(), request: kind });
  if (kind === "part" || kind === "put") {
    came.once("data", () => tell({ kind: "payload", atMs: nowMs(), direction: "up" }));
  }
  // Node's server has already sent "100 Continue".
  const { expect: _, ...headers } = came.headers;
  const onward = ask({ host: address, port: storePort, method, path, headers, agent, setHost: false });
  onward.on("response", (response) => {
    const { statusCode: status = 502, rawHeaders } = response;
    answer.writeHead(status, rawHeaders);
    if (kind === "get" && status < 300) {
      response.once("data", () => tell({ kind: "payload", atMs: nowMs(), direction: "down" }));
    }
    response.pipe(answer);
  });
  onward.on("error", () => answer.destroy());
  answer.on("close", () => onward.destroy());
  came.pipe(onward);
}

const server = createServer({ cert: readFileSync(given.certFile), key: readFileSync(given.keyFile) }, passOn);
server.keepAliveTimeout = 60_000;
server.on("connection", () => tell({ kind: "connected", atMs: nowMs() }));
server.on("secureConnection", () => tell({ kind: "encrypted", atMs: nowMs() }));
server.listen(port, address);

const resolver = createSocket("udp4");
resolver.on("message", (query, from) => {
  tell({ kind: "lookup", atMs: nowMs() });
  const reply = answerLookup(query, address);
  if (reply !== null) resolver.send(reply, from.port, from.address);
});
resolver.bind(53, address);

await Promise.all([once(server, "listening"), once(resolver, "listening")]);
tell({ kind: "ready" });
const lines = createInterface({ input: process.stdin });
lines.on("line", () => tell({ kind: "mark" }));
// The measuring process has ended.
lines.on("close", () => process.exit());

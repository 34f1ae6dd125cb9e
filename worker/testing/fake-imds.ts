import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * For tests: the metadata service of SaladCloud, as its interface is described. It refuses requests without its header, and
 * records all requests. Started as a program it prints its URL, lists the requests at `/asked`, and takes the container's
 * identity at `/identify`.
 */
export interface FakeImds {
  url: string;
  asked: AskedOfImds[];
  /** Sets the identity of the container, which has none until then. */
  identify(jwt: string): void;
  /** Makes it answer every later call with this status; null: normally. */
  failWith(status: number | null): void;
  close(): Promise<void>;
}

export interface AskedOfImds {
  method: string;
  path: string;
  metadata: string | null;
  body: unknown;
}

const ROUTES = [
  "GET /v1/status",
  "GET /v1/token",
  "GET /v1/deletion-cost",
  "PUT /v1/deletion-cost",
  "POST /v1/reallocate",
];

export async function startFakeImds(): Promise<FakeImds> {
  const asked: AskedOfImds[] = [];
  let failure: number | null = null;
  let jwt: string | null = null;
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = "", url = "", headers } = request;
    const answer = (status: number, body: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (url === "/asked") {
      answer(200, asked);
      return;
    }
    if (url === "/identify") {
      const given = await readJson(request);
      jwt = typeof given === "string" ? given : null;
      answer(200, {});
      return;
    }
    const metadata = typeof headers["metadata"] === "string" ? headers["metadata"] : null;
    asked.push({ method, path: url, metadata, body: await readJson(request) });
    if (failure !== null) answer(failure, {});
    else if (metadata !== "true") answer(403, {});
    else if (!ROUTES.includes(`${method} ${url}`)) answer(404, {});
    else if (url === "/v1/token") answer(jwt === null ? 404 : 200, jwt === null ? {} : { jwt });
    else if (method === "GET")
      answer(200, url === "/v1/status" ? { ready: true, started: true } : { deletion_cost: 0 });
    else answer(method === "POST" ? 204 : 200, {});
  };
  const server = createServer((request, response) => void take(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    identify: (given) => {
      jwt = given;
    },
    failWith: (status) => {
      failure = status;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  return text === "" ? null : (JSON.parse(text) as unknown);
}

if (import.meta.main) process.stdout.write(`${JSON.stringify({ url: (await startFakeImds()).url })}\n`);

import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** For tests: a loopback server that gives the test's answers and records every request. */

export interface Seen {
  method: string;
  /** Path and query as received, still encoded. */
  url: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  body: Buffer;
}

export interface Canned {
  status?: number;
  headers?: OutgoingHttpHeaders;
  body?: string | Buffer;
  /** Breaks the connection, without an answer or, if there is a body, after it. */
  hangUp?: true;
}

export interface CannedServer {
  endpoint: string;
  seen: Seen[];
  /** Connections opened so far. */
  connections: () => number;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a server. `answer` is called for every request, after its body was read. */
export async function serveCanned(answer: (seen: Seen) => Canned): Promise<CannedServer> {
  const seen: Seen[] = [];
  let connections = 0;
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk as Uint8Array));
    const url = new URL(request.url ?? "/", "http://canned");
    const one: Seen = {
      method: request.method ?? "",
      url: request.url ?? "",
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: Buffer.concat(chunks),
    };
    seen.push(one);
    const { status = 200, headers = {}, body = "", hangUp } = answer(one);
    if (hangUp === true && body.length === 0) {
      request.socket.destroy();
      return;
    }
    response.writeHead(status, { "content-length": Buffer.byteLength(body), ...headers });
    if (hangUp === true) response.write(body, () => request.socket.destroy());
    else response.end(request.method === "HEAD" ? undefined : body);
  };
  const server = createServer((request, response) => {
    handle(request, response).catch(() => request.socket.destroy());
  });
  server.on("connection", () => connections++);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    seen,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

/** A captive portal's answer to any request. */
export const PORTAL: Canned = {
  status: 200,
  headers: { "content-type": "text/html; charset=utf-8" },
  body: "<!DOCTYPE html><html><body>Please sign in to the guest network</body></html>",
};

/** Returns an S3 error document. */
export const s3Error = (status: number, code: string, more = ""): Canned => ({
  status,
  headers: { "content-type": "application/xml" },
  body: `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>words</Message>${more}<RequestId>R1</RequestId></Error>`,
});

import { createServer, request as ask, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { PutObjectCommand, S3Client, type PutObjectCommandInput } from "@aws-sdk/client-s3";
import type { StoreAddress } from "./provision.ts";

/** Makes a client of a store, for what Tidemark itself never asks of one. */
export const clientOf = (store: StoreAddress): S3Client =>
  new S3Client({
    endpoint: store.endpoint,
    region: "us-east-1",
    forcePathStyle: true,
    credentials: { accessKeyId: store.accessKey, secretAccessKey: store.secretKey },
  });

/** Puts an object with any key and headers into a store, as other tools do. */
export async function putOdd(
  store: StoreAddress,
  key: string,
  rest: Partial<PutObjectCommandInput> = {},
): Promise<void> {
  const client = clientOf(store);
  await client.send(new PutObjectCommand({ Bucket: store.bucket, Key: key, Body: "x", ...rest }));
  client.destroy();
}

/** A response of the store, before it is forwarded. */
export interface PassedAnswer {
  method: string;
  url: string;
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Starts a proxy of a store that can change its responses, to emulate a store with one peculiarity. */
export async function serveOdd(
  store: StoreAddress,
  change: (answer: PassedAnswer) => PassedAnswer,
): Promise<{ endpoint: string; close(): Promise<void> }> {
  const { hostname, port } = new URL(store.endpoint);
  const server = createServer((from, to) => {
    const { method = "GET", url = "/", headers } = from;
    const passed = ask({ hostname, port, method, path: url, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => void chunks.push(chunk));
      answer.on("end", () => {
        const told = {
          method,
          url,
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          body: Buffer.concat(chunks),
        };
        const changed = change(told);
        const length = method === "HEAD" ? {} : { "content-length": String(changed.body.length) };
        to.writeHead(changed.status, { ...changed.headers, ...length });
        to.end(method === "HEAD" ? undefined : changed.body);
      });
    });
    from.pipe(passed);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** Changes only the text of object listings. */
export const changeListings =
  (change: (text: string) => string) =>
  (answer: PassedAnswer): PassedAnswer =>
    answer.url.includes("list-type=2") ? { ...answer, body: Buffer.from(change(answer.body.toString())) } : answer;

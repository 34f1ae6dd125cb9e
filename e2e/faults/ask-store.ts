import { createHash } from "node:crypto";
import { request } from "node:http";
import { encodeKey, presign, type QueryPairs } from "#storage/signing/sigv4.ts";
import { childrenOf, parseXml, textOf } from "#storage/answers/xml.ts";
import type { RunningStore } from "../stage/start-store.ts";

/** What the store really holds, asked without the program under test. Bodies are read whole. */

/** A store, and the region it wants to be asked in. */
type Asked = RunningStore & { readonly region?: string };

interface Question {
  method: "GET" | "PUT";
  path: string;
  query?: QueryPairs;
  body?: Buffer;
}

const signed = (store: Asked, about: Question): string =>
  presign(
    { method: about.method, origin: store.endpoint, path: about.path, query: about.query ?? [], headers: {} },
    {
      credential: { accessKeyId: store.accessKey, secretAccessKey: store.secretKey },
      region: store.region ?? "us-east-1",
      nowMs: Date.now(),
      lifetimeMs: 600_000,
    },
  );

async function ask(store: Asked, about: Question): Promise<{ status: number; body: Buffer }> {
  const answer = await fetch(signed(store, about), {
    method: about.method,
    ...(about.body === undefined ? {} : { body: new Uint8Array(about.body) }),
  });
  return { status: answer.status, body: Buffer.from(await answer.arrayBuffer()) };
}

const pathOf = (store: Asked, key: string) => `/${store.bucket}/${encodeKey(key)}`;

/** SHA-256 of an object, or null when there is none. */
export async function sumOfObject(store: Asked, key: string): Promise<string | null> {
  const answer = await fetch(signed(store, { method: "GET", path: pathOf(store, key) }));
  if (answer.status === 404) {
    await answer.text();
    return null;
  }
  if (answer.status !== 200 || answer.body === null) throw new Error(`the store answered ${answer.status} for ${key}`);
  const hash = createHash("sha256");
  for await (const chunk of answer.body) hash.update(chunk);
  return hash.digest("hex");
}

export async function putObject(store: Asked, key: string, body: Buffer): Promise<void> {
  const { status } = await ask(store, { method: "PUT", path: pathOf(store, key), body });
  if (status !== 200) throw new Error(`the store answered ${status} to a put of ${key}`);
}

/** Puts an object whose key an URL would not keep as it is (`..`, `//`). */
export async function putRaw(store: Asked, key: string, body: Buffer): Promise<void> {
  const path = pathOf(store, key);
  const url = signed(store, { method: "PUT", path });
  const status = await new Promise<number>((resolve, reject) => {
    const sent = request({
      host: "127.0.0.1",
      port: store.port,
      method: "PUT",
      path: url.slice(store.endpoint.length),
    });
    sent.on("response", (answer) => resolve(answer.resume().statusCode ?? 0)).on("error", reject);
    sent.setHeader("content-length", body.length).end(body);
  });
  if (status !== 200) throw new Error(`the store answered ${status} to a put of ${key}`);
}

/** Keys (with upload ids) of multipart uploads under a prefix that were begun and neither completed nor aborted. */
export async function openUploads(store: Asked, prefix: string): Promise<string[]> {
  const query: QueryPairs = [
    ["uploads", ""],
    ["prefix", prefix],
  ];
  const { body } = await ask(store, { method: "GET", path: `/${store.bucket}`, query });
  const parsed = parseXml(body);
  if (parsed?.root !== "ListMultipartUploadsResult") throw new Error(`not a list of uploads: ${body.toString()}`);
  return childrenOf(parsed.element, "Upload").map((one) => `${textOf(one, "Key")} ${textOf(one, "UploadId")}`);
}

/** Keys under a prefix, of all pages. */
export async function listKeys(store: Asked, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for (let token: string | undefined, more = true; more;) {
    const query: QueryPairs = [
      ["list-type", "2"],
      ["prefix", prefix],
      ...(token === undefined ? [] : [["continuation-token", token] as const]),
    ];
    const { body } = await ask(store, { method: "GET", path: `/${store.bucket}`, query });
    const parsed = parseXml(body);
    if (parsed?.root !== "ListBucketResult") throw new Error(`not a listing: ${body.toString()}`);
    keys.push(...childrenOf(parsed.element, "Contents").map((one) => textOf(one, "Key") ?? ""));
    token = textOf(parsed.element, "NextContinuationToken");
    more = textOf(parsed.element, "IsTruncated") === "true";
  }
  return keys;
}

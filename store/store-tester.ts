/** A small signing client for the store's own tests, which exposes resets, short bodies and connections. */
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "./config.ts";
import { startStore, type RunningStore } from "./server.ts";
import { canonicalQuery, canonicalRequest, requestSignature, scopeText, signingKey } from "./sigv4.ts";

/** A request. `path` is encoded; `signedHeaders` are signed, `headers` only sent. */
type TestRequest = {
  readonly method?: string;
  readonly path: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signedHeaders?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly nowMs?: number;
  readonly region?: string;
  readonly secretKey?: string;
  readonly accessKey?: string;
  /** Host header in place of the store's own. */
  readonly host?: string;
};

/** An answer. `ended` is `cut` when the connection broke; status 0: before any answer. */
type TestAnswer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
  readonly code: string;
  readonly ended: "complete" | "cut";
};

/** A store in this process, with a client. */
export type StoreTester = {
  readonly store: RunningStore;
  readonly folder: string;
  readonly send: (request: TestRequest) => Promise<TestAnswer>;
  readonly presign: (request: TestRequest & { readonly expiresSeconds: number }) => string;
  readonly control: (method: string, path: string, body?: unknown) => Promise<Record<string, unknown>>;
  readonly arm: (rule: Readonly<Record<string, unknown>>) => Promise<void>;
  readonly close: () => Promise<void>;
};

const ACCESS_KEY = "tester";
const SECRET_KEY = "tester-secret";
const CONTROL = "tester-control";

function amzDate(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`;
}

function authorization(given: TestRequest, host: string, sent: Map<string, string>): string {
  const date = amzDate(given.nowMs ?? Date.now());
  const scope = { date: date.slice(0, 8), region: given.region ?? "us-east-1", service: "s3" };
  sent.set("host", host).set("x-amz-date", date);
  if (!sent.has("x-amz-content-sha256")) {
    sent.set(
      "x-amz-content-sha256",
      createHash("sha256")
        .update(given.body ?? "")
        .digest("hex"),
    );
  }
  const signedHeaders = [...sent.keys()].toSorted((left, right) => (left < right ? -1 : 1));
  const canonical = canonicalRequest({
    method: given.method ?? "GET",
    rawPath: given.path,
    rawQuery: given.query ?? "",
    headers: sent,
    signedHeaders,
    payloadHash: sent.get("x-amz-content-sha256") ?? "",
  });
  const signing = { key: signingKey(given.secretKey ?? SECRET_KEY, scope), amzDate: date, scope };
  const place = `${given.accessKey ?? ACCESS_KEY}/${scopeText(scope)}`;
  const signature = requestSignature(signing, canonical);
  return `AWS4-HMAC-SHA256 Credential=${place}, SignedHeaders=${signedHeaders.join(";")}, Signature=${signature}`;
}

function exchange(
  agent: Agent,
  url: string,
  given: { method: string; headers: Record<string, string>; body: string | Buffer },
) {
  return new Promise<TestAnswer>((resolve) => {
    let status = 0;
    let headers: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    const finish = (ended: "complete" | "cut"): void => {
      const body = Buffer.concat(chunks);
      const text = body.toString("utf8");
      resolve({ status, headers, body, text, code: /<Code>([^<]*)/.exec(text)?.[1] ?? "", ended });
    };
    const outgoing = httpRequest(url, { agent, method: given.method, headers: given.headers }, (incoming) => {
      status = incoming.statusCode ?? 0;
      headers = incoming.headers;
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", () => finish("complete"));
      incoming.on("error", () => finish("cut"));
    });
    outgoing.on("error", () => finish("cut"));
    if (given.headers["expect"] === undefined) outgoing.end(given.body);
    else outgoing.on("continue", () => outgoing.end(given.body));
  });
}

/** Starts a store in a new folder; `flags` are further command-line flags. */
export async function openTester(flags: readonly string[] = []): Promise<StoreTester> {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-store-test-"));
  const keys = ["--access-key", ACCESS_KEY, "--secret-key", SECRET_KEY];
  const result = readConfig(
    ["--data", folder, "--bucket", "box", "--control", CONTROL, "--no-fsync", ...keys, ...flags],
    {},
  );
  if ("problem" in result) throw new Error(result.problem);
  const surroundings = {
    nowMs: Date.now,
    report: (error: unknown) => {
      throw error;
    },
  };
  const store = await startStore(result.config, surroundings);
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const host = `127.0.0.1:${store.port}`;
  const urlOf = (path: string, query = ""): string => `${store.endpoint}${path}${query === "" ? "" : `?${query}`}`;

  const control = async (method: string, path: string, body?: unknown): Promise<Record<string, unknown>> => {
    const answer = await fetch(urlOf(`/_control${path}`), {
      method,
      headers: { authorization: `Bearer ${CONTROL}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await answer.json()) as Record<string, unknown>;
  };

  return {
    store,
    folder,
    control,
    send(given) {
      const method = given.method ?? "GET";
      const body = given.body ?? "";
      const signed = new Map(Object.entries(given.signedHeaders ?? {}));
      const headers: Record<string, string> = { "content-length": String(Buffer.byteLength(body)), ...given.headers };
      headers["authorization"] = authorization(given, given.host ?? host, signed);
      return exchange(agent, urlOf(given.path, given.query), {
        method,
        headers: { ...headers, ...Object.fromEntries(signed) },
        body,
      });
    },
    presign(given) {
      const date = amzDate(given.nowMs ?? Date.now());
      const scope = { date: date.slice(0, 8), region: "us-east-1", service: "s3" };
      const place = encodeURIComponent(`${ACCESS_KEY}/${scopeText(scope)}`);
      const own = `X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=${place}&X-Amz-Date=${date}&X-Amz-Expires=${given.expiresSeconds}&X-Amz-SignedHeaders=host`;
      const rawQuery = canonicalQuery(given.query === undefined ? own : `${given.query}&${own}`);
      const canonical = canonicalRequest({
        method: given.method ?? "GET",
        rawPath: given.path,
        rawQuery,
        headers: new Map([["host", host]]),
        signedHeaders: ["host"],
        payloadHash: "UNSIGNED-PAYLOAD",
      });
      const signing = { key: signingKey(SECRET_KEY, scope), amzDate: date, scope };
      return urlOf(given.path, `${rawQuery}&X-Amz-Signature=${requestSignature(signing, canonical)}`);
    },
    async arm(rule) {
      const answer = await control("POST", "/rules", rule);
      if (!("ids" in answer)) throw new Error(JSON.stringify(answer));
    },
    async close() {
      agent.destroy();
      await store.stop(0);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

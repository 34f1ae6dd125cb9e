import { S3Client, GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { describe, expect, test } from "vitest";
import { EMPTY_PAYLOAD_HASH, encodeKey, presign, signHeaders, type RequestToSign } from "./sigv4.ts";

/** The examples of the S3 API reference, "Authenticating Requests", all with this key and at this time. */
const credential = {
  accessKeyId: "AKIAIOSFODNN7EXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
};
const scope = { credential, region: "us-east-1", nowMs: Date.UTC(2013, 4, 24) };
const origin = "https://examplebucket.s3.amazonaws.com";

const signatureIn = (headers: Record<string, string>): string | undefined =>
  /Signature=([0-9a-f]{64})$/.exec(headers["authorization"] ?? "")?.[1];

describe("the examples AWS publishes", () => {
  test("presigned GET", () => {
    const url = presign(
      { method: "GET", origin, path: "/test.txt", query: [], headers: {} },
      { ...scope, lifetimeMs: 86_400_000 },
    );
    expect(url).toBe(
      "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256" +
        "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request" +
        "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host" +
        "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404",
    );
  });

  test("GET of a range", () => {
    const request: RequestToSign = {
      method: "GET",
      origin,
      path: "/test.txt",
      query: [],
      headers: { range: "bytes=0-9" },
    };
    const headers = signHeaders(request, { ...scope, payloadHash: EMPTY_PAYLOAD_HASH });
    expect(signatureIn(headers)).toBe("f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
    expect(headers["authorization"]).toContain("SignedHeaders=host;range;x-amz-content-sha256;x-amz-date");
  });

  test("PUT with a key that has to be encoded", () => {
    const request: RequestToSign = {
      method: "PUT",
      origin,
      path: `/${encodeKey("test$file.text")}`,
      query: [],
      headers: { date: "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY" },
    };
    const payloadHash = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
    expect(signatureIn(signHeaders(request, { ...scope, payloadHash }))).toBe(
      "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
    );
  });

  test("GET of a subresource without a value", () => {
    const request: RequestToSign = { method: "GET", origin, path: "/", query: [["lifecycle", ""]], headers: {} };
    expect(signatureIn(signHeaders(request, { ...scope, payloadHash: EMPTY_PAYLOAD_HASH }))).toBe(
      "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
    );
  });

  test("listing with parameters", () => {
    const query = [
      ["prefix", "J"],
      ["max-keys", "2"],
    ] as const;
    const request: RequestToSign = { method: "GET", origin, path: "/", query, headers: {} };
    expect(signatureIn(signHeaders(request, { ...scope, payloadHash: EMPTY_PAYLOAD_HASH }))).toBe(
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    );
  });
});

/** Lets the SDK sign a request with its own signer and keeps what it would have sent. */
async function signedBySdk(key: string, body: string | null) {
  const kept: { path: string; method: string; headers: Record<string, string> }[] = [];
  const client = new S3Client({
    endpoint: "http://store.test:9000",
    region: "eu-central-1",
    forcePathStyle: true,
    credentials: { ...credential, sessionToken: "a/session+token==" },
    requestChecksumCalculation: "WHEN_REQUIRED",
    requestHandler: {
      handle: async (request: { path: string; method: string; headers: Record<string, string> }) => {
        kept.push({ path: request.path, method: request.method, headers: { ...request.headers } });
        throw new Error("not sent");
      },
    },
    maxAttempts: 1,
  });
  const at = { Bucket: "bucket", Key: key };
  const command = body === null ? new GetObjectCommand(at) : new PutObjectCommand({ ...at, Body: body });
  await client.send(command).catch(() => undefined);
  return kept[0];
}

describe("beside the SDK's own signer", () => {
  test.each([
    ["a plain key", "runs/llama/model.bin", null],
    ["spaces, plus and tilde", "a b+c~d/e  f.bin", null],
    ["signs that JavaScript leaves alone", "what!'()*.bin", null],
    ["letters outside ASCII", "模型/é/🚀.safetensors", null],
    ["percent signs, not encoded twice", "50%25/a=b&c;d", null],
    ["a body", "put here", "some text"],
  ])("gives the same signature for %s", async (_name, key, body) => {
    const sent = await signedBySdk(key, body);
    const authorization = sent?.headers["authorization"] ?? "";
    const names = /SignedHeaders=([^,]+)/.exec(authorization)?.[1]?.split(";") ?? [];
    const headers: Record<string, string> = {};
    const added = new Set(["host", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token"]);
    for (const name of names) if (!added.has(name)) headers[name] = sent?.headers[name] ?? "";
    const date = sent?.headers["x-amz-date"] ?? "";
    const nowMs = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
    const ours = signHeaders(
      {
        method: sent?.method ?? "",
        origin: "http://store.test:9000",
        path: `/bucket/${encodeKey(key)}`,
        query: [["x-id", body === null ? "GetObject" : "PutObject"]],
        headers,
      },
      {
        credential: { ...credential, sessionToken: "a/session+token==" },
        region: "eu-central-1",
        nowMs,
        payloadHash: sent?.headers["x-amz-content-sha256"] ?? "",
      },
    );
    expect(sent?.path).toBe(`/bucket/${encodeKey(key)}`);
    expect(signatureIn(ours)).toMatch(/^[0-9a-f]{64}$/);
    expect(signatureIn(ours)).toBe(/Signature=([0-9a-f]{64})$/.exec(authorization)?.[1]);
  });
});

describe("presign", () => {
  const request: RequestToSign = { method: "PUT", origin, path: "/a", query: [], headers: { "content-length": "5" } };
  const signature = (url: string) => new URL(url).searchParams.get("X-Amz-Signature");

  test("binds every header it is given", () => {
    const url = presign(request, { ...scope, lifetimeMs: 60_000 });
    const other = presign({ ...request, headers: { "content-length": "6" } }, { ...scope, lifetimeMs: 60_000 });
    expect(new URL(url).searchParams.get("X-Amz-SignedHeaders")).toBe("content-length;host");
    expect(signature(url)).not.toBe(signature(other));
  });

  test("carries a session token inside the signature", () => {
    const withToken = { ...scope, credential: { ...credential, sessionToken: "t+/=" }, lifetimeMs: 60_000 };
    const url = presign(request, withToken);
    expect(new URL(url).searchParams.get("X-Amz-Security-Token")).toBe("t+/=");
    expect(signature(url)).not.toBe(signature(presign(request, { ...scope, lifetimeMs: 60_000 })));
  });

  test("does not mix up keys that share an id, a day or a region", () => {
    const base = { ...scope, lifetimeMs: 60_000 };
    const urls = [
      base,
      { ...base, region: "eu-west-1" },
      { ...base, nowMs: base.nowMs + 86_400_000 },
      { ...base, credential: { ...credential, secretAccessKey: "another" } },
    ].map((each) => signature(presign(request, each)));
    expect(new Set(urls).size).toBe(4);
    expect(signature(presign(request, base))).toBe(urls[0]);
  });

  test("lives between one second and seven days", () => {
    const lifetime = (lifetimeMs: number) =>
      new URL(presign(request, { ...scope, lifetimeMs })).searchParams.get("X-Amz-Expires");
    expect(lifetime(10)).toBe("1");
    expect(lifetime(90_500)).toBe("90");
    expect(lifetime(30 * 86_400_000)).toBe("604800");
  });
});

import { ListObjectsV2Command, PutObjectCommand, type S3Client } from "@aws-sdk/client-s3";
import { afterEach, describe, expect, test } from "vitest";
import { createControlClient, createLocalSigner } from "./client.ts";
import { signControlRequest, type ControlRequest } from "../signing/sign-control.ts";
import { traitsOf } from "../providers/providers.ts";
import type { StoreAccess } from "../signing/signing.ts";
import { serveCanned, s3Error } from "../testing/canned-server.ts";

const credential = { accessKeyId: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "a secret that stays here" };
const accessTo = (endpoint: string): StoreAccess => ({
  endpoint,
  region: "us-east-1",
  bucket: "training",
  addressing: "path",
  traits: traitsOf("minio"),
});
const EMPTY_LIST = {
  headers: { "content-type": "application/xml" },
  body: "<ListBucketResult><Name>training</Name><IsTruncated>false</IsTruncated></ListBucketResult>",
};

const open: S3Client[] = [];
function clientOf(...input: Parameters<typeof createControlClient>): S3Client {
  const client = createControlClient(...input);
  open.push(client);
  return client;
}
afterEach(() => {
  for (const client of open.splice(0)) client.destroy();
});

describe("the control client", () => {
  test("signs with the key it was given, so that the store can check every header that matters", async () => {
    await using server = await serveCanned(() => ({ headers: { etag: '"a"' } }));
    const access = accessTo(server.endpoint);
    const nowMs = Date.UTC(2026, 10, 21, 12);
    const client = clientOf({ access, credential, now: () => nowMs });
    await client.send(new PutObjectCommand({ Bucket: "training", Key: "a b+é", Body: "text", IfNoneMatch: "*" }));
    const [seen] = server.seen;
    const authorization = seen?.headers.authorization ?? "";
    const names = /SignedHeaders=([^,]+)/.exec(authorization)?.[1]?.split(";") ?? [];
    expect(names).toEqual(expect.arrayContaining(["content-length", "host", "if-none-match", "x-amz-content-sha256"]));
    expect(seen?.headers["x-amz-content-sha256"]).toBe(
      "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1",
    );
    const again = signControlRequest(
      {
        method: "PUT",
        url: `${server.endpoint}${seen?.url}`,
        headers: Object.fromEntries(names.map((name) => [name, String(seen?.headers[name])]).filter(isOurs)),
        payloadHash: String(seen?.headers["x-amz-content-sha256"]),
      },
      { credential, region: "us-east-1", nowMs },
    );
    expect(again.headers["authorization"]).toBe(authorization);
  });

  test("sends no x-amz header that is not signed, and none of the SDK's bookkeeping", async () => {
    await using server = await serveCanned(() => ({ headers: { etag: '"a"' } }));
    await clientOf({ access: accessTo(server.endpoint), credential }).send(
      new PutObjectCommand({ Bucket: "training", Key: "a", Body: "text" }),
    );
    const headers = server.seen[0]?.headers ?? {};
    const signed = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? "")?.[1]?.split(";") ?? [];
    const sent = Object.keys(headers).filter((name) => name.startsWith("x-amz-") || name.startsWith("amz-"));
    expect(sent.length).toBeGreaterThan(0);
    expect(signed).toEqual(expect.arrayContaining(sent));
    expect(headers["user-agent"]).toMatch(/^tidemark\/\d/);
    expect(server.seen[0]?.query.has("x-id")).toBe(false);
  });

  test("uses a signer of another process and never asks for a key", async () => {
    await using server = await serveCanned(() => EMPTY_LIST);
    const access = accessTo(server.endpoint);
    const asked: ControlRequest[] = [];
    const elsewhere = createLocalSigner({ access, credential });
    const client = clientOf({
      access,
      signer: {
        sign: async (request) => {
          // As plain data: this is what crosses to the other process.
          const copy = structuredClone(request);
          asked.push(copy);
          return await elsewhere.sign(copy);
        },
      },
    });
    await client.send(new ListObjectsV2Command({ Bucket: "training", Prefix: "a b/" }));
    expect(asked).toHaveLength(1);
    expect(asked[0]?.url).toBe(`${server.endpoint}/training/?list-type=2&prefix=a%20b%2F`);
    expect(server.seen[0]?.headers.authorization).toContain("Credential=AKIAIOSFODNN7EXAMPLE/");
    expect(server.seen[0]?.headers.authorization).not.toContain("signed-elsewhere");
  });

  test("passes on what the signer refuses", async () => {
    await using server = await serveCanned(() => EMPTY_LIST);
    const signer = { sign: () => Promise.reject(new Error("locked")) };
    const client = clientOf({ access: accessTo(server.endpoint), signer });
    await expect(client.send(new ListObjectsV2Command({ Bucket: "training" }))).rejects.toThrow("locked");
    expect(server.seen).toHaveLength(0);
  });

  test("tries once: the callers own their retries", async () => {
    await using server = await serveCanned(() => s3Error(503, "SlowDown"));
    const client = clientOf({ access: accessTo(server.endpoint), credential });
    await expect(client.send(new ListObjectsV2Command({ Bucket: "training" }))).rejects.toMatchObject({
      code: "THROTTLED",
    });
    expect(server.seen).toHaveLength(1);
  });

  test("follows no redirect", async () => {
    await using other = await serveCanned(() => EMPTY_LIST);
    const location = `${other.endpoint}/training`;
    await using server = await serveCanned(() => ({
      ...s3Error(301, "PermanentRedirect"),
      headers: { location, "x-amz-bucket-region": "eu-west-1" },
    }));
    const client = clientOf({ access: accessTo(server.endpoint), credential });
    await expect(client.send(new ListObjectsV2Command({ Bucket: "training" }))).rejects.toMatchObject({
      code: "WRONG_REGION",
    });
    expect(other.seen).toHaveLength(0);
  });

  test("sends a large body at once, on a connection it keeps", async () => {
    await using server = await serveCanned(() => ({ headers: { etag: '"a"' } }));
    const client = clientOf({ access: accessTo(server.endpoint), credential });
    for (const Key of ["a", "b", "c"]) {
      await client.send(new PutObjectCommand({ Bucket: "training", Key, Body: Buffer.alloc(3 * 1024 * 1024) }));
    }
    expect(server.seen.map(({ headers }) => headers.expect)).toEqual([undefined, undefined, undefined]);
    expect(server.connections()).toBe(1);
  });

  test("sends no checksum and no chunked encoding on its own account", async () => {
    await using server = await serveCanned(() => ({ headers: { etag: '"a"' } }));
    const client = clientOf({ access: accessTo(server.endpoint), credential });
    await client.send(new PutObjectCommand({ Bucket: "training", Key: "a", Body: "text" }));
    const names = Object.keys(server.seen[0]?.headers ?? {});
    expect(names.filter((name) => /checksum|trailer|encoding/.test(name))).toEqual([]);
    expect(server.seen[0]?.body.toString()).toBe("text");
  });
});

/** Host and the headers of the signature itself are added again when signing. */
const isOurs = (pair: string[]): boolean => !["host", "x-amz-date", "x-amz-content-sha256"].includes(pair[0] ?? "");

import { describe, expect, test } from "vitest";
import { operation, signedRequest, type Operation } from "#protocol/wire/operations.ts";
import { traitsOf } from "../providers/providers.ts";
import { describeOperation, locate, locateBucket, presignOperation, type StoreAccess } from "./signing.ts";

const access: StoreAccess = {
  endpoint: "https://s3.eu-central-1.amazonaws.com",
  region: "eu-central-1",
  bucket: "training",
  addressing: "virtual-host",
  traits: traitsOf("aws"),
};
const plain: StoreAccess = { ...access, traits: traitsOf("other") };
const credential = { accessKeyId: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "a secret that stays here" };
const key = "runs/llama/e000001/abcdef012345/model.bin";
const ETAG = '"abc-3"';

const OPERATIONS: Record<Operation["op"], Operation> = {
  create: { op: "create", key, nonce: "n1" },
  part: { op: "part", key, uploadId: "u/+1", partNumber: 7, sizeBytes: 8_388_608, crc32: "cbf43926" },
  put: { op: "put", key, sizeBytes: 10, crc32: "cbf43926", nonce: "n1" },
  parts: { op: "parts", key, uploadId: "u/+1", after: 1000 },
  complete: { op: "complete", key, uploadId: "u/+1" },
  abort: { op: "abort", key, uploadId: "u/+1" },
  head: { op: "head", key },
  delete: { op: "delete", key },
  share: { op: "share", key },
  get: { op: "get", key, offset: 100, length: 50, etag: ETAG },
};

const describedHeaders = (operation: Operation, of = access) => describeOperation(of, operation).headers;

describe("what lets the store check the bytes", () => {
  const MD5 = "900150983cd24fb0d6963f7d28e17f72";
  const SUMS = /^(content-md5|x-amz-(sdk-)?checksum.*)$/;
  const sumsOf = (operation: Operation, of: StoreAccess) =>
    Object.fromEntries(Object.entries(describedHeaders(operation, of)).filter(([name]) => SUMS.test(name)));
  const b2: StoreAccess = { ...access, traits: traitsOf("b2") };

  test("is a Content-MD5 where the store refuses checksum headers, and it is signed", () => {
    for (const operation of [OPERATIONS.part, OPERATIONS.put] as const) {
      expect(sumsOf({ ...operation, md5: MD5 } as Operation, b2)).toEqual({
        "content-md5": "kAFQmDzST7DWlj99KOF/cg==",
      });
    }
    const operation = { ...OPERATIONS.part, md5: MD5 } as Operation;
    const { url, headers } = presignOperation({ access: b2, credential, operation, nowMs: 0, lifetimeMs: 1000 });
    expect(new URL(url).searchParams.get("X-Amz-SignedHeaders")).toBe("content-length;content-md5;host");
    expect(headers["content-md5"]).toBe("kAFQmDzST7DWlj99KOF/cg==");
  });

  test("is nothing where nobody computed an MD5, and never two at a time", () => {
    expect(sumsOf(OPERATIONS.part, b2)).toEqual({});
    expect(sumsOf(OPERATIONS.create, b2)).toEqual({});
    expect(sumsOf({ ...OPERATIONS.part, md5: MD5 } as Operation, access)).toEqual({
      "x-amz-checksum-crc32": "y/Q5Jg==",
    });
  });

  test("is what the node found out, whatever the profile says", () => {
    const withMd5 = { md5: MD5, checksum: "md5" } as const;
    expect(sumsOf({ ...OPERATIONS.create, checksum: "md5" } as Operation, access)).toEqual({});
    expect(sumsOf({ ...OPERATIONS.part, ...withMd5 }, access)).toEqual({
      "content-md5": "kAFQmDzST7DWlj99KOF/cg==",
    });
    expect(sumsOf({ ...OPERATIONS.put, checksum: "none" } as Operation, access)).toEqual({});
    expect(sumsOf({ ...OPERATIONS.put, checksum: "crc32" } as Operation, plain)).toEqual({
      "x-amz-checksum-crc32": "y/Q5Jg==",
    });
    expect(sumsOf({ ...OPERATIONS.create, checksum: "crc32" } as Operation, plain)).toEqual({
      "x-amz-checksum-algorithm": "CRC32",
    });
  });

  test("crosses the border to the hub only in one form", () => {
    const parsed = (md5: string) => operation.safeParse({ ...OPERATIONS.part, md5, checksum: "md5" }).success;
    expect(parsed(MD5)).toBe(true);
    for (const wrong of ["kAFQmDzST7DWlj99KOF/cg==", MD5.toUpperCase(), `${MD5}0`, `${MD5.slice(1)}\n`, ""]) {
      expect(parsed(wrong)).toBe(false);
    }
    expect(operation.safeParse({ ...OPERATIONS.part, checksum: "sha1" }).success).toBe(false);
  });
});

test("an object's metadata stays far below the smallest budget of a store", () => {
  for (const op of ["create", "put"] as const) {
    const nonce = "0123456789abcdef".repeat(4);
    const described = describedHeaders({ ...OPERATIONS[op], nonce } as Operation);
    const metadata = Object.entries(described).filter(([name]) => name.startsWith("x-amz-meta-"));
    expect(metadata).toHaveLength(1);
    expect(metadata.flat().join("").length).toBeLessThan(256);
  }
});

describe("describeOperation", () => {
  test.each<[Operation["op"], string, Record<string, string>]>([
    ["create", "POST", { uploads: "" }],
    ["part", "PUT", { partNumber: "7", uploadId: "u/+1" }],
    ["put", "PUT", {}],
    ["parts", "GET", { "max-parts": "1000", "part-number-marker": "1000", uploadId: "u/+1" }],
    ["complete", "POST", { uploadId: "u/+1" }],
    ["abort", "DELETE", { uploadId: "u/+1" }],
    ["head", "HEAD", {}],
    ["get", "GET", {}],
  ])("turns %s into its S3 request", (op, method, query) => {
    const described = describeOperation(access, OPERATIONS[op]);
    expect(described.method).toBe(method);
    expect(Object.fromEntries(described.query)).toEqual(query);
    expect(described.url).toBe(`https://training.s3.eu-central-1.amazonaws.com/${key}`);
  });

  test("fixes length, sum and nonce of what is written, and writes only what is not there", () => {
    expect(describedHeaders(OPERATIONS.put)).toEqual({
      "content-length": "10",
      "x-amz-checksum-crc32": "y/Q5Jg==",
      "x-amz-meta-tidemark-nonce": "n1",
      "if-none-match": "*",
    });
    expect(describedHeaders(OPERATIONS.part)).toEqual({
      "content-length": "8388608",
      "x-amz-checksum-crc32": "y/Q5Jg==",
    });
    expect(describedHeaders(OPERATIONS.create)).toEqual({
      "x-amz-meta-tidemark-nonce": "n1",
      "x-amz-checksum-algorithm": "CRC32",
    });
    expect(describedHeaders(OPERATIONS.complete)).toEqual({ "if-none-match": "*" });
  });

  test("leaves out what a plain store refuses or ignores, but never the length", () => {
    expect(describedHeaders(OPERATIONS.put, plain)).toEqual({
      "content-length": "10",
      "x-amz-meta-tidemark-nonce": "n1",
    });
    expect(describedHeaders(OPERATIONS.part, plain)).toEqual({ "content-length": "8388608" });
    expect(describedHeaders(OPERATIONS.create, plain)).toEqual({ "x-amz-meta-tidemark-nonce": "n1" });
    expect(describedHeaders(OPERATIONS.complete, plain)).toEqual({});
  });

  test("pins a read to its ETag when one is known", () => {
    expect(describedHeaders(OPERATIONS.get)).toEqual({ range: "bytes=100-149", "if-match": ETAG });
    expect(describedHeaders({ op: "get", key, offset: 0, length: 1, etag: null })).toEqual({ range: "bytes=0-0" });
    expect(describedHeaders({ op: "get", key, offset: 0, length: 1, etag: ETAG, isSummed: true })).toEqual({
      "if-match": ETAG,
      "x-amz-checksum-mode": "ENABLED",
    });
  });

  test("asks for the first page of parts without a marker", () => {
    const { query } = describeOperation(access, { op: "parts", key, uploadId: "u", after: 0 });
    expect(query.map(([name]) => name)).not.toContain("part-number-marker");
  });
});

describe("locate", () => {
  test("puts the bucket into the host or into the path, and keeps the port", () => {
    const minio: StoreAccess = { ...access, endpoint: "http://127.0.0.1:9000", addressing: "path" };
    expect(locate(minio, "a/b")).toEqual({ origin: "http://127.0.0.1:9000", path: "/training/a/b" });
    expect(locate({ ...minio, endpoint: "http://store:9000", addressing: "virtual-host" }, "a/b")).toEqual({
      origin: "http://training.store:9000",
      path: "/a/b",
    });
  });

  test("uses the path for a bucket with dots over https, where no certificate would fit", () => {
    expect(locate({ ...access, bucket: "my.bucket" }, "a").path).toBe("/my.bucket/a");
  });

  test.each(["http://127.0.0.1:9000", "https://[::1]:9000", "http://10.0.0.7"])(
    "uses the path at %s, where a bucket could not stand in front",
    (endpoint) => {
      const origin = endpoint;
      expect(locate({ ...access, endpoint }, "a")).toEqual({ origin, path: "/training/a" });
    },
  );

  test("keeps the path of an endpoint below which a store answers, for keys and for the bucket", () => {
    const below = { ...access, endpoint: "https://abc.supabase.co/storage/v1/s3/" };
    expect(locate(below, "a b")).toEqual({
      origin: "https://abc.supabase.co",
      path: "/storage/v1/s3/training/a%20b",
    });
    expect(locateBucket(below).path).toBe("/storage/v1/s3/training");
  });

  test("encodes each byte of a key once and keeps its slashes", () => {
    expect(locate(access, "a b/c+d~e/é'(1)*!%20").path).toBe("/a%20b/c%2Bd~e/%C3%A9%27%281%29%2A%21%2520");
  });

  test("survives the reading of URLs unchanged", () => {
    const { origin, path } = locate(access, "a b/模型+~'(1)*!.bin");
    expect(new URL(origin + path).pathname).toBe(path);
  });

  test.each(["../a", "a/../b", "a/./b", ".."])("refuses %s, which a URL would change", (hostile) => {
    expect(() => locate(access, hostile)).toThrow(expect.objectContaining({ code: "HOSTILE_NAME" }));
  });
});

describe("presignOperation", () => {
  test.each(["path", "virtual-host"] as const)(
    "signs the path of an endpoint below which a store answers (%s)",
    (style) => {
      const signed = (endpoint: string) => {
        const below: StoreAccess = { ...access, endpoint, addressing: style };
        const { url } = presignOperation({
          access: below,
          credential,
          operation: OPERATIONS.head,
          nowMs: 0,
          lifetimeMs: 1000,
        });
        return new URL(url);
      };
      const { origin, pathname, searchParams } = signed("https://abc.supabase.co/storage/v1/s3");
      expect([origin, pathname]).toEqual(["https://abc.supabase.co", `/storage/v1/s3/training/${key}`]);
      const other = signed("https://abc.supabase.co/storage/v2/s3").searchParams;
      expect(searchParams.get("X-Amz-Signature")).not.toBe(other.get("X-Amz-Signature"));
    },
  );

  test.each(["n\nx-amz-acl:public-read", "n\r\n", "né", "n\u0000"])("refuses %j in a header", (hostile) => {
    const create = { op: "create" as const, key, nonce: hostile };
    const get = { op: "get" as const, key, offset: 0, length: 1, etag: hostile };
    for (const operation of [create, get]) {
      const presign = () => presignOperation({ access, credential, operation, nowMs: 0, lifetimeMs: 1000 });
      expect(presign).toThrow(expect.objectContaining({ code: "BAD_INPUT" }));
    }
  });

  const nowMs = Date.UTC(2026, 10, 21, 12, 0, 0, 700);
  const sign = (operation: Operation, lifetimeMs = 600_000) =>
    presignOperation({ access, credential, operation, nowMs, lifetimeMs });
  const signedNames = (url: string) => new URL(url).searchParams.get("X-Amz-SignedHeaders")?.split(";");

  test.each(Object.values(OPERATIONS))("of $op can go to a node and holds no secret", (operation) => {
    const request = sign(operation);
    expect(signedRequest.parse(request)).toEqual(request);
    expect(request.headers).toEqual(describeOperation(access, operation).headers);
    expect(JSON.stringify(request)).not.toContain(credential.secretAccessKey);
  });

  test("signs everything that fences a write", () => {
    expect(signedNames(sign(OPERATIONS.put).url)).toEqual([
      "content-length",
      "host",
      "if-none-match",
      "x-amz-checksum-crc32",
      "x-amz-meta-tidemark-nonce",
    ]);
    expect(signedNames(sign(OPERATIONS.part).url)).toEqual(["content-length", "host", "x-amz-checksum-crc32"]);
    expect(signedNames(sign(OPERATIONS.complete).url)).toEqual(["host", "if-none-match"]);
  });

  test("pins the object of a read but leaves its range free, to go on after a break", () => {
    expect(signedNames(sign(OPERATIONS.get).url)).toEqual(["host", "if-match"]);
    const later = sign({ op: "get", key, offset: 120, length: 30, etag: ETAG });
    expect(later.url).toBe(sign(OPERATIONS.get).url);
  });

  test("says when it ends, by the second the store counts from", () => {
    expect(sign(OPERATIONS.head).expiresAt).toBe(Date.UTC(2026, 10, 21, 12, 10, 0));
    const longest = sign(OPERATIONS.head, 90 * 86_400_000);
    expect(longest.expiresAt).toBe(Date.UTC(2026, 10, 28, 12, 0, 0));
    expect(new URL(longest.url).searchParams.get("X-Amz-Expires")).toBe("604800");
  });
});

import { describe, expect, it } from "vitest";
import {
  canonicalPath,
  canonicalQuery,
  canonicalRequest,
  chunkSignature,
  EMPTY_SHA256,
  requestSignature,
  sha256Hex,
  signingKey,
} from "./sigv4.ts";

// The examples of the S3 API reference, "Authenticating Requests (AWS Signature Version 4)".
const scope = { date: "20130524", region: "us-east-1", service: "s3" };
const signing = {
  key: signingKey("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", scope),
  amzDate: "20130524T000000Z",
  scope,
};
const host = "examplebucket.s3.amazonaws.com";

function signatureOf(given: {
  method: string;
  path: string;
  query?: string;
  headers: Record<string, string>;
  payloadHash: string;
}): string {
  const headers = new Map(Object.entries(given.headers));
  const canonical = canonicalRequest({
    method: given.method,
    rawPath: given.path,
    rawQuery: given.query ?? "",
    headers,
    signedHeaders: [...headers.keys()].sort((left, right) => left.localeCompare(right)),
    payloadHash: given.payloadHash,
  });
  return requestSignature(signing, canonical);
}

describe("the signature", () => {
  it("is AWS's for GET Object", () => {
    const headers = {
      host,
      range: "bytes=0-9",
      "x-amz-content-sha256": EMPTY_SHA256,
      "x-amz-date": "20130524T000000Z",
    };
    expect(signatureOf({ method: "GET", path: "/test.txt", headers, payloadHash: EMPTY_SHA256 })).toBe(
      "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    );
  });

  it("is AWS's for PUT Object, whose name has a dollar sign", () => {
    const payloadHash = sha256Hex("Welcome to Amazon S3.");
    const headers = {
      date: "Fri, 24 May 2013 00:00:00 GMT",
      host,
      "x-amz-content-sha256": payloadHash,
      "x-amz-date": "20130524T000000Z",
      "x-amz-storage-class": "REDUCED_REDUNDANCY",
    };
    for (const path of ["/test$file.text", "/test%24file.text"]) {
      expect(signatureOf({ method: "PUT", path, headers, payloadHash })).toBe(
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
      );
    }
  });

  it("is AWS's for a query without a value and for a list", () => {
    const headers = { host, "x-amz-content-sha256": EMPTY_SHA256, "x-amz-date": "20130524T000000Z" };
    expect(signatureOf({ method: "GET", path: "/", query: "lifecycle", headers, payloadHash: EMPTY_SHA256 })).toBe(
      "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
    );
    const query = "prefix=J&max-keys=2";
    expect(signatureOf({ method: "GET", path: "/", query, headers, payloadHash: EMPTY_SHA256 })).toBe(
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    );
  });

  it("is AWS's for a presigned URL", () => {
    const query =
      "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=whatever";
    expect(
      signatureOf({ method: "GET", path: "/test.txt", query, headers: { host }, payloadHash: "UNSIGNED-PAYLOAD" }),
    ).toBe("aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
  });

  it("is AWS's for every chunk of a chunked upload", () => {
    const seed = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9";
    const first = chunkSignature(signing, seed, sha256Hex("a".repeat(65_536)));
    const second = chunkSignature(signing, first, sha256Hex("a".repeat(1024)));
    expect(first).toBe("ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648");
    expect(second).toBe("0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497");
    expect(chunkSignature(signing, second, EMPTY_SHA256)).toBe(
      "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
    );
  });
});

describe("canonical forms", () => {
  it("encode a path once, whatever its sender encoded", () => {
    expect(canonicalPath("/b/a%20b/%C3%BC+~!*'()/x")).toBe("/b/a%20b/%C3%BC%2B~%21%2A%27%28%29/x");
    expect(canonicalPath("/b/ü")).toBe("/b/%C3%BC");
    expect(canonicalPath("/b//../x")).toBe("/b//../x");
  });

  it("sort a query by its encoded names, keep repetitions and leave the signature out", () => {
    expect(canonicalQuery("b=2&a=z&a=b&X-Amz-Signature=s&C=%2F")).toBe("C=%2F&a=b&a=z&b=2");
  });
});

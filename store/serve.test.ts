import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTester, type StoreTester } from "./store-tester.ts";

let tester: StoreTester;
beforeAll(async () => {
  tester = await openTester(["--cors-origin", "https://hub.example.com", "--domain", "s3.test"]);
  await tester.send({ method: "PUT", path: "/box/object", body: "0123456789" });
});
afterAll(() => tester.close());

const opened = async (): Promise<number> => Number((await tester.control("GET", "/counters"))["connectionsOpened"]);

describe("a connection", () => {
  it("is kept for the next request, also after a refused body", async () => {
    const big = Buffer.alloc(2_000_000);
    await tester.send({ path: "/box/object" });
    const before = await opened();
    expect((await tester.send({ method: "PUT", path: "/nowhere/x", body: big })).code).toBe("NoSuchBucket");
    expect((await tester.send({ method: "PUT", path: "/box/x", body: big, secretKey: "wrong" })).code).toBe(
      "SignatureDoesNotMatch",
    );
    expect((await tester.send({ path: "/box/object" })).text).toBe("0123456789");
    expect(await opened()).toBe(before);
  });

  it("waits for leave to send a body, and is not given it when the request is refused anyway", async () => {
    const headers = { expect: "100-continue" };
    const allowed = await tester.send({ method: "PUT", path: "/box/waited", body: "abc", headers });
    expect(allowed.status).toBe(200);
    const refused = await tester.send({ method: "PUT", path: "/nowhere/x", body: "abc", headers });
    expect([refused.code, refused.headers.connection]).toEqual(["NoSuchBucket", "close"]);
  });

  it("that breaks within a body leaves nothing behind", async () => {
    await new Promise<void>((resolve) => {
      const url = tester.presign({ method: "PUT", path: "/box/broken", expiresSeconds: 60 });
      const outgoing = httpRequest(url, { method: "PUT", headers: { "content-length": "1000000" } });
      outgoing.on("error", () => resolve());
      outgoing.write(Buffer.alloc(100_000), () => outgoing.destroy());
    });
    await expect.poll(async () => (await tester.control("GET", "/counters"))["inFlight"]).toBe(0);
    expect((await tester.send({ method: "HEAD", path: "/box/broken" })).status).toBe(404);
    expect((await tester.send({ path: "/box/object" })).status).toBe(200);
  });
});

describe("a refused signature", () => {
  it("names each way of being wrong as S3 does", async () => {
    const ask = (more: object) => tester.send({ path: "/box/object", ...more });
    expect((await ask({ accessKey: "nobody" })).code).toBe("InvalidAccessKeyId");
    expect((await ask({ nowMs: Date.now() - 16 * 60_000 })).code).toBe("RequestTimeTooSkewed");
    expect((await ask({ nowMs: Date.now() + 14 * 60_000 })).status).toBe(200);
    expect((await ask({ headers: { "x-amz-meta-sneaked": "in" } })).text).toContain(
      "<HeadersNotSigned>x-amz-meta-sneaked<",
    );
    expect((await ask({ signedHeaders: { "x-amz-content-sha256": "nonsense" } })).code).toBe("InvalidArgument");
    expect((await ask({ query: "versions=" })).code).toBe("NotImplemented");
  });

  it("of a presigned URL says whether it is late or early, and for how long it may live", async () => {
    const ask = async (nowMs: number, expiresSeconds: number) => {
      const answer = await fetch(tester.presign({ path: "/box/object", nowMs, expiresSeconds }));
      return { status: answer.status, text: await answer.text() };
    };
    expect((await ask(Date.now() - 61_000, 60)).text).toContain("<Message>Request has expired</Message>");
    expect((await ask(Date.now() + 16 * 60_000, 60)).text).toContain("<Message>Request is not yet valid</Message>");
    expect((await ask(Date.now(), 604_801)).text).toContain("<Code>AuthorizationQueryParametersError</Code>");
    expect((await ask(Date.now() - 3_600_000, 7200)).status).toBe(200);
  });

  it("holds no secret in its text", async () => {
    const answer = await tester.send({
      path: "/box/object",
      secretKey: "wrong",
      signedHeaders: { "x-amz-security-token": "" },
    });
    expect(answer.code).toBe("SignatureDoesNotMatch");
    expect(answer.text).not.toContain("tester-secret");
    expect(answer.text).not.toMatch(/[0-9a-f]{64}<\/Signature/);
  });
});

describe("an answer", () => {
  it("always carries a date and a request id, which the error document repeats", async () => {
    const answer = await tester.send({ path: "/box/missing" });
    expect(Date.parse(String(answer.headers.date))).toBeGreaterThan(0);
    const requestId = String(answer.headers["x-amz-request-id"]);
    expect(requestId).toMatch(/^[0-9A-F]{16}$/);
    expect(answer.text).toContain(`<RequestId>${requestId}</RequestId>`);
    expect(answer.text).toContain("<Resource>/box/missing</Resource>");
  });

  it("takes another type and name from a presigned query", async () => {
    const query =
      "response-content-disposition=attachment%3B%20filename%3Dx.bin&response-content-type=application%2Foctet-stream";
    const answer = await fetch(tester.presign({ path: "/box/object", query, expiresSeconds: 60 }));
    expect(answer.headers.get("content-disposition")).toBe("attachment; filename=x.bin");
    expect(answer.headers.get("content-type")).toBe("application/octet-stream");
  });

  it("lets the configured origin read the ETag, and no other origin anything", async () => {
    const url = tester.presign({ path: "/box/object", expiresSeconds: 60 });
    const ours = await fetch(url, { headers: { origin: "https://hub.example.com" } });
    expect(ours.headers.get("access-control-allow-origin")).toBe("https://hub.example.com");
    expect(ours.headers.get("access-control-expose-headers")).toContain("ETag");
    const other = await fetch(url, { headers: { origin: "https://elsewhere.example.com" } });
    expect(other.headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("a bucket named by the host", () => {
  it("is served under its domain, and paths go on to work", async () => {
    const host = "box.s3.test:9000";
    const read = await tester.send({ path: "/object", host, headers: { host } });
    expect([read.status, read.text]).toEqual([200, "0123456789"]);
    const listed = await tester.send({ path: "/", query: "list-type=2", host, headers: { host } });
    expect(listed.text).toContain("<Key>object</Key>");
    const other = "nothing.s3.test";
    expect((await tester.send({ path: "/object", host: other, headers: { host: other } })).code).toBe("NoSuchBucket");
    expect((await tester.send({ path: "/box/object" })).status).toBe(200);
  });
});

describe("a part of an object", () => {
  it("can be read by its number", async () => {
    const created = await tester.send({ method: "POST", path: "/box/parts", query: "uploads=" });
    const uploadId = /<UploadId>([^<]*)/.exec(created.text)?.[1] ?? "";
    const bodies = [Buffer.alloc(5 * 1024 * 1024, "a"), Buffer.from("the second")];
    const lines: string[] = [];
    for (const [index, body] of bodies.entries()) {
      const query = `partNumber=${index + 1}&uploadId=${uploadId}`;
      const sent = await tester.send({ method: "PUT", path: "/box/parts", query, body });
      lines.push(`<Part><PartNumber>${index + 1}</PartNumber><ETag>${sent.headers.etag}</ETag></Part>`);
    }
    const body = `<CompleteMultipartUpload>${lines.join("")}</CompleteMultipartUpload>`;
    await tester.send({ method: "POST", path: "/box/parts", query: `uploadId=${uploadId}`, body });
    const second = await tester.send({ path: "/box/parts", query: "partNumber=2" });
    expect([second.status, second.text]).toEqual([206, "the second"]);
    expect(second.headers["x-amz-mp-parts-count"]).toBe("2");
  });
});

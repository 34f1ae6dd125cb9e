import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { openTester, type StoreTester } from "./store-tester.ts";

let tester: StoreTester;
const body = randomBytes(300_000);

beforeAll(async () => {
  tester = await openTester();
  await tester.send({ method: "PUT", path: "/box/object", body });
});
afterEach(async () => {
  await tester.control("DELETE", "/rules");
});
afterAll(() => tester.close());

const get = (headers: Record<string, string> = {}) => tester.send({ path: "/box/object", headers });
const put = (path = "/box/other", content: string | Buffer = "content") =>
  tester.send({ method: "PUT", path, body: content });

async function beginUpload(key: string): Promise<string> {
  const created = await tester.send({ method: "POST", path: `/box/${key}`, query: "uploads=" });
  return /<UploadId>([^<]*)/.exec(created.text)?.[1] ?? "";
}

describe("a scripted fault before the work", () => {
  it("answers any status and code, with Retry-After, and then lets the next attempt through", async () => {
    await tester.arm({
      op: "PutObject",
      attempt: 1,
      action: { kind: "error", status: 503, code: "SlowDown", retryAfterSeconds: 7 },
    });
    const first = await put("/box/slow");
    expect([first.status, first.code, first.headers["retry-after"]]).toEqual([503, "SlowDown", "7"]);
    expect((await tester.send({ method: "HEAD", path: "/box/slow" })).status).toBe(404);
    expect((await put("/box/slow")).status).toBe(200);
  });

  it("answers odd codes without XML", async () => {
    await tester.arm({ op: "GetObject", action: { kind: "error", status: 522, code: "timeout", body: "text" } });
    const answer = await get();
    expect([answer.status, answer.text]).toEqual([522, "timeout\n"]);
  });

  it("resets the connection before, within and after the request's body, without the work", async () => {
    for (const at of ["start", "request", "after-request"]) {
      await tester.arm({ id: "cut", op: "PutObject", action: { kind: "reset", at, afterBytes: 1000 } });
      const answer = await put(`/box/cut-${at}`, body);
      expect([answer.status, answer.ended]).toEqual([0, "cut"]);
      await tester.control("DELETE", "/rules/cut");
      expect((await tester.send({ method: "HEAD", path: `/box/cut-${at}` })).status).toBe(404);
    }
  });

  it("forgets an upload, so that its parts meet NoSuchUpload", async () => {
    const uploadId = await beginUpload("lost");
    await tester.arm({ op: "UploadPart", partNumber: 2, times: 1, action: { kind: "lose-upload" } });
    const part = (number: number) =>
      tester.send({ method: "PUT", path: "/box/lost", query: `partNumber=${number}&uploadId=${uploadId}`, body: "x" });
    expect((await part(1)).status).toBe(200);
    expect((await part(2)).code).toBe("NoSuchUpload");
    expect((await part(1)).code).toBe("NoSuchUpload");
  });

  it("treats the key as expired", async () => {
    await tester.arm({ op: "GetObject", action: { kind: "expire" } });
    const signed = await get();
    expect([signed.status, signed.code]).toEqual([400, "ExpiredToken"]);
    const presigned = await fetch(tester.presign({ path: "/box/object", expiresSeconds: 60 }));
    expect(presigned.status).toBe(403);
  });

  it("throttles only while too many requests are in flight", async () => {
    await tester.arm({ id: "hold", op: "GetObject", times: 2, action: { kind: "stall", side: "response" } });
    const held = [get(), get()];
    await expect.poll(async () => (await tester.control("GET", "/counters"))["inFlight"]).toBe(2);
    await tester.arm({ op: "HeadObject", action: { kind: "throttle", above: 2 } });
    expect((await tester.send({ method: "HEAD", path: "/box/object" })).status).toBe(503);
    await tester.control("POST", "/release");
    for (const answer of await Promise.all(held)) expect(answer.body.equals(body)).toBe(true);
    expect((await tester.send({ method: "HEAD", path: "/box/object" })).status).toBe(200);
  });
});

describe("a scripted fault in the answer", () => {
  it("flips one byte on its way and leaves the stored one alone", async () => {
    await tester.arm({ op: "GetObject", times: 1, action: { kind: "flip", offset: 123_456 } });
    const flipped = await get();
    const differing = [...flipped.body.entries()]
      .filter(([index, byte]) => byte !== body[index])
      .map(([index]) => index);
    expect(differing).toEqual([123_456]);
    expect((await get()).body.equals(body)).toBe(true);
  });

  it("flips one byte of a body before it is stored, which its hash then tells", async () => {
    await tester.arm({ op: "PutObject", times: 1, action: { kind: "flip", side: "request", offset: 3 } });
    expect((await put()).code).toBe("XAmzContentSHA256Mismatch");
    expect((await put()).status).toBe(200);
  });

  it("is cut short of its announced length", async () => {
    await tester.arm({ op: "GetObject", times: 1, action: { kind: "truncate", afterBytes: 1000 } });
    const answer = await get();
    expect([answer.status, answer.headers["content-length"], answer.body.length, answer.ended]).toEqual([
      200,
      "300000",
      1000,
      "cut",
    ]);
  });

  it("ends early without a length, looking whole", async () => {
    await tester.arm({ op: "GetObject", times: 1, action: { kind: "truncate", afterBytes: 1000, framing: "close" } });
    const answer = await get();
    expect([answer.status, answer.headers["content-length"], answer.body.length, answer.ended]).toEqual([
      200,
      undefined,
      1000,
      "complete",
    ]);
  });

  it("is reset in the middle of its body", async () => {
    await tester.arm({ op: "GetObject", times: 1, action: { kind: "reset", at: "response", afterBytes: 5000 } });
    const answer = await get();
    expect(answer.ended).toBe("cut");
    expect(answer.body.length).toBeLessThanOrEqual(5000);
  });

  it("stalls in the middle until it is released", async () => {
    await tester.arm({
      id: "s",
      op: "GetObject",
      times: 1,
      action: { kind: "stall", side: "response", afterBytes: 1000 },
    });
    let done = false;
    const answer = get().then((given) => {
      done = true;
      return given;
    });
    await expect.poll(async () => (await tester.control("GET", "/counters"))["inFlight"]).toBe(1);
    expect(done).toBe(false);
    await expect.poll(async () => (await tester.control("POST", "/release/s"))["released"]).toBe(1);
    expect((await answer).body.equals(body)).toBe(true);
  });

  it("is lost although the work was done", async () => {
    const uploadId = await beginUpload("done");
    const part = await tester.send({
      method: "PUT",
      path: "/box/done",
      query: `partNumber=1&uploadId=${uploadId}`,
      body: "x",
    });
    await tester.arm({ op: "CompleteMultipartUpload", times: 1, action: { kind: "drop-response" } });
    const xml = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${part.headers.etag}</ETag></Part></CompleteMultipartUpload>`;
    const complete = () => tester.send({ method: "POST", path: "/box/done", query: `uploadId=${uploadId}`, body: xml });
    expect((await complete()).status).toBe(0);
    expect((await tester.send({ method: "HEAD", path: "/box/done" })).status).toBe(200);
    expect((await complete()).code).toBe("NoSuchUpload");
  });

  it("is a 200 that holds an error, a web page or nothing", async () => {
    await tester.arm({ id: "1", op: "PutObject", times: 1, action: { kind: "error-in-200", ending: "newline" } });
    const error = await put();
    expect([error.status, error.code, error.text.endsWith("</Error>\n")]).toEqual([200, "InternalError", true]);
    await tester.arm({ id: "2", op: "ListObjectsV2", times: 1, action: { kind: "html" } });
    const page = await tester.send({ path: "/box", query: "list-type=2" });
    expect([page.status, page.headers["content-type"], page.text.startsWith("<!DOCTYPE html>")]).toEqual([
      200,
      "text/html",
      true,
    ]);
    await tester.arm({ id: "3", op: "PutObject", times: 1, action: { kind: "empty" } });
    const nothing = await put("/box/empty-answer");
    expect([nothing.status, nothing.headers.etag, nothing.text]).toEqual([200, undefined, ""]);
    expect((await tester.send({ method: "HEAD", path: "/box/empty-answer" })).status).toBe(200);
    await tester.arm({ id: "4", op: "PutObject", times: 1, action: { kind: "no-etag" } });
    expect((await put()).headers.etag).toBeUndefined();
  });

  it("ignores a range or names another one", async () => {
    await tester.arm({ op: "GetObject", times: 1, action: { kind: "ignore-range" } });
    const whole = await get({ range: "bytes=10-19" });
    expect([whole.status, whole.headers["content-range"], whole.body.length]).toEqual([200, undefined, 300_000]);
    await tester.arm({ op: "GetObject", times: 1, action: { kind: "wrong-content-range", shiftBytes: 5 } });
    const shifted = await get({ range: "bytes=10-19" });
    expect([shifted.status, shifted.headers["content-range"]]).toEqual([206, "bytes 15-24/300000"]);
    expect(shifted.body.equals(body.subarray(10, 20))).toBe(true);
  });

  it("carries a wrong date or none", async () => {
    await tester.arm({ op: "HeadObject", times: 1, action: { kind: "date", shiftMs: 7_200_000 } });
    const shifted = await tester.send({ method: "HEAD", path: "/box/object" });
    const offMs = Date.parse(String(shifted.headers.date)) - Date.now();
    expect(Math.abs(offMs - 7_200_000)).toBeLessThan(10_000);
    await tester.arm({ op: "HeadObject", times: 1, action: { kind: "date", header: "hide" } });
    expect((await tester.send({ method: "HEAD", path: "/box/object" })).headers.date).toBeUndefined();
  });
});

describe("the control interface", () => {
  it("needs its token", async () => {
    const answer = await fetch(`${tester.store.endpoint}/_control/rules`, {
      headers: { authorization: "Bearer guess" },
    });
    expect(answer.status).toBe(401);
  });

  /** A request is counted when its last byte has left, which may be a moment after the client has its answer. */
  const forgetAll = async () => {
    await expect.poll(async () => (await tester.control("GET", "/counters"))["inFlight"]).toBe(0);
    await tester.control("DELETE", "/counters");
  };

  it("counts requests by operation, key and part, and the bytes that came", async () => {
    const uploadId = await beginUpload("counted");
    await forgetAll();
    for (const number of [1, 3, 3]) {
      const query = `partNumber=${number}&uploadId=${uploadId}`;
      await tester.send({ method: "PUT", path: "/box/counted", query, body: "12345" });
    }
    const counters = await vi.waitFor(async () => {
      const read = await tester.control("GET", "/counters?op=UploadPart");
      expect(read).toMatchObject({ requests: 3, receivedBytes: 15, byOperation: { UploadPart: 3 } });
      return read;
    }, 20_000);
    expect(counters["targets"]).toMatchObject([
      { key: "counted", partNumber: 1, requests: 1, succeeded: 1, receivedBytes: 5 },
      { key: "counted", partNumber: 3, requests: 2, succeeded: 2, receivedBytes: 10 },
    ]);
  });

  it("logs names of headers but no values, and which faults fired", async () => {
    await forgetAll();
    await tester.arm({ id: "logged", op: "GetObject", action: { kind: "delay", ms: 0 } });
    await get();
    await fetch(tester.presign({ path: "/box/object", expiresSeconds: 60 }));
    const log = await vi.waitFor(async () => {
      const read = await tester.control("GET", "/log");
      expect(read["requests"]).toMatchObject([{ status: 200, faults: ["logged"] }, { status: 200 }]);
      return read;
    }, 20_000);
    expect(JSON.stringify(log)).not.toMatch(/Signature=|Credential=|X-Amz-Signature/);
  });

  it("moves the store's clock, which signatures then miss", async () => {
    await tester.control("PUT", "/clock", { offsetMs: 2 * 3_600_000 });
    const answer = await get();
    expect(answer.code).toBe("RequestTimeTooSkewed");
    const serverMs = Date.parse(String(answer.headers.date));
    expect((await tester.send({ path: "/box/object", nowMs: serverMs })).status).toBe(200);
    await tester.control("PUT", "/clock", { offsetMs: 0 });
  });

  it("adds keys that expire and takes keys back", async () => {
    const temporary = { accessKey: "temp", secretKey: "temp-secret" };
    await tester.control("PUT", "/credentials", {
      ...temporary,
      sessionToken: "token",
      expiresAtMs: Date.now() + 60_000,
    });
    const use = (token: string) =>
      tester.send({ path: "/box/object", ...temporary, signedHeaders: { "x-amz-security-token": token } });
    expect((await use("token")).status).toBe(200);
    expect((await use("other")).code).toBe("InvalidToken");
    await tester.control("PUT", "/credentials", { ...temporary, sessionToken: "token", expiresAtMs: Date.now() - 1 });
    expect((await use("token")).code).toBe("ExpiredToken");
    await tester.control("DELETE", "/credentials/temp");
    expect((await use("token")).code).toBe("InvalidAccessKeyId");
  });
});

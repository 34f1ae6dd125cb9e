import { describe, expect, test } from "vitest";
import type { SignedRequest } from "#protocol/wire/operations.ts";
import { sendSigned } from "./send.ts";
import { serveCanned } from "../testing/canned-server.ts";

const options = { fetch, op: "PutObject", subject: "runs/a", timeoutMs: 10_000 };
const put = (url: string): SignedRequest => ({
  method: "PUT",
  url,
  headers: { "content-length": "5", "if-none-match": "*" },
  expiresAt: 0,
});

describe("sendSigned", () => {
  test("sends the headers that were signed, each once, and the bytes", async () => {
    await using server = await serveCanned(() => ({ headers: { ETag: '"e"', "X-Amz-Request-Id": "R1" }, body: "ok" }));
    const answer = await sendSigned(put(`${server.endpoint}/b/k?X-Amz-Signature=s`), {
      ...options,
      body: Buffer.from("hello"),
    });
    expect(server.seen[0]?.headers).toMatchObject({ "content-length": "5", "if-none-match": "*" });
    expect(server.seen[0]?.body.toString()).toBe("hello");
    expect(answer).toMatchObject({ status: 200, headers: { etag: '"e"', "x-amz-request-id": "R1" } });
    expect(answer.body.toString()).toBe("ok");
  });

  test("gives an error or a redirect as an answer and goes nowhere else", async () => {
    await using other = await serveCanned(() => ({}));
    await using server = await serveCanned(() => ({ status: 307, headers: { location: `${other.endpoint}/` } }));
    const answer = await sendSigned(put(`${server.endpoint}/b/k`), { ...options, body: "hello" });
    expect(answer.status).toBe(307);
    expect(other.seen).toHaveLength(0);
  });

  test("turns a lost connection into a fault that names the key, not the signed URL", async () => {
    await using server = await serveCanned(() => ({ hangUp: true }));
    const sent = sendSigned(put(`${server.endpoint}/b/k?X-Amz-Signature=abcdef`), { ...options, body: "hello" });
    const fault = await sent.catch((error: unknown) => error);
    expect(fault).toMatchObject({ code: "LINK_DOWN", context: { op: "PutObject", subject: "runs/a" } });
    expect(String(fault)).not.toContain("abcdef");
  });

  test("gives up on a store that does not answer in time", async () => {
    const never: typeof fetch = (_url, init) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener("abort", () => {
          reject(init.signal?.reason as Error);
        });
      });
    const sent = sendSigned(put("http://store.test/b/k"), { ...options, fetch: never, timeoutMs: 5 });
    await expect(sent).rejects.toMatchObject({ code: "STALLED" });
  });
});

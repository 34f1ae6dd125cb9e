import { describe, expect, test } from "vitest";
import { createControlClient } from "./client.ts";
import { deleteObject, getObjectRange, getObjectText, headObject, putObjectText } from "./objects.ts";
import { traitsOf } from "../providers/providers.ts";
import { PORTAL, s3Error, serveCanned, type Canned, type Seen } from "../testing/canned-server.ts";

const at = { bucket: "training", key: "manifests/llama/e000001/s1.json" };

/** Runs one call against a store that answers like this. */
async function against<T>(
  answer: (seen: Seen) => Canned,
  call: (client: ReturnType<typeof createControlClient>) => Promise<T>,
): Promise<{ result: T | null; error: unknown; seen: Seen[] }> {
  await using server = await serveCanned(answer);
  const client = createControlClient({
    access: {
      endpoint: server.endpoint,
      region: "us-east-1",
      bucket: at.bucket,
      addressing: "path",
      traits: traitsOf("other"),
    },
    credential: { accessKeyId: "key", secretAccessKey: "secret" },
  });
  try {
    return { result: await call(client), error: null, seen: server.seen };
  } catch (error) {
    return { result: null, error, seen: server.seen };
  } finally {
    client.destroy();
  }
}

describe("getObjectRange", () => {
  const get = (canned: Canned, etag: string | null = '"e"') =>
    against(
      () => canned,
      (client) => getObjectRange(client, { ...at, offset: 2, length: 3, etag, signal: AbortSignal.timeout(60_000) }),
    );
  const ranged = (body: string, headers: Record<string, string> = {}): Canned => ({
    status: 206,
    headers: { etag: '"e"', "content-range": "bytes 2-4/9", ...headers },
    body,
  });

  test("gives exactly these bytes, of the version that was meant", async () => {
    const { result, seen } = await get(ranged("cde"));
    expect(Buffer.from(result ?? []).toString()).toBe("cde");
    expect(seen[0]?.headers).toMatchObject({ range: "bytes=2-4", "if-match": '"e"' });
    const { headers } = (await get(ranged("cde"), null)).seen[0] ?? {};
    expect(headers).not.toHaveProperty("if-match");
  });

  test("takes nothing else for them", async () => {
    const whole = { headers: { etag: '"e"' }, body: "abcdefghi" };
    expect((await get(whole)).error).toMatchObject({ code: "RANGE_IGNORED", context: { subject: at.key } });
    expect((await get(ranged("cde", { etag: '"other"' }))).error).toMatchObject({ code: "OBJECT_CHANGED" });
    expect((await get(ranged("bcd", { "content-range": "bytes 1-3/9" }))).error).toMatchObject({
      code: "UNEXPECTED_ANSWER",
    });
    expect((await get(ranged("cd", { "content-range": "bytes 2-3/4" }))).error).toMatchObject({
      code: "SIZE_MISMATCH",
    });
    expect((await get(s3Error(412, "PreconditionFailed"))).error).toMatchObject({ code: "OBJECT_CHANGED" });
    expect((await get(s3Error(404, "NoSuchKey"))).error).toMatchObject({ code: "NO_SUCH_KEY" });
  });
});

describe("getObjectText", () => {
  const get = (canned: Canned, maxBytes = 1000) =>
    against(
      () => canned,
      (client) => getObjectText(client, { ...at, maxBytes }),
    );

  test("gives the text and its ETag", async () => {
    const { result } = await get({ headers: { etag: '"e"' }, body: "né\n" });
    expect(result).toEqual({ text: "né\n", etag: '"e"' });
  });

  test("stops at the limit", async () => {
    expect((await get({ headers: { etag: '"e"' }, body: "x".repeat(1000) })).error).toBeNull();
    expect((await get({ headers: { etag: '"e"' }, body: "x".repeat(1001) })).error).toMatchObject({
      code: "TOO_LARGE",
      context: { subject: at.key },
    });
  });

  test("refuses a page, bytes that are no text, and an object that is not there", async () => {
    expect((await get(PORTAL)).error).toMatchObject({ code: "INTERCEPTED", context: { subject: at.key } });
    const bytes = Buffer.from([0xff, 0xfe, 0x00]);
    expect((await get({ headers: { etag: '"e"' }, body: bytes })).error).toMatchObject({ code: "BAD_INPUT" });
    expect((await get(s3Error(404, "NoSuchKey"))).error).toMatchObject({ code: "NO_SUCH_KEY" });
  });

  test("refuses a text that was cut short", async () => {
    const { error } = await get({ headers: { etag: '"e"', "content-length": 100 }, body: "short", hangUp: true });
    expect(error).toMatchObject({ code: "LINK_DOWN", context: { subject: at.key } });
  });
});

describe("putObjectText", () => {
  const put = (canned: Canned, ifNoneMatch?: "*") =>
    against(
      () => canned,
      (client) => putObjectText(client, { ...at, text: '{"é":1}', ...(ifNoneMatch && { ifNoneMatch }) }),
    );

  test("writes the text as UTF-8 and gives the ETag", async () => {
    const { result, seen } = await put({ headers: { etag: '"e"' } });
    expect(result).toEqual({ etag: '"e"' });
    expect(seen[0]?.body.toString("utf8")).toBe('{"é":1}');
    expect(seen[0]?.headers).toMatchObject({ "content-type": "application/json", "content-length": "8" });
    expect(seen[0]?.headers["if-none-match"]).toBeUndefined();
  });

  test("writes only where nothing is, when told so", async () => {
    const { error, seen } = await put(s3Error(412, "PreconditionFailed"), "*");
    expect(seen[0]?.headers["if-none-match"]).toBe("*");
    expect(error).toMatchObject({ code: "ALREADY_EXISTS", context: { subject: at.key } });
  });

  test("does not take a page or a bare 200 for stored", async () => {
    expect((await put(PORTAL)).error).toMatchObject({ code: "INTERCEPTED" });
    expect((await put({ status: 200 })).error).toMatchObject({ code: "UNEXPECTED_ANSWER" });
  });
});

describe("headObject", () => {
  const head = (canned: Canned) =>
    against(
      () => canned,
      (client) => headObject(client, at),
    );

  test("gives size, ETag, date and nonce", async () => {
    const headers = {
      etag: '"e"',
      "content-length": 42,
      "last-modified": "Sat, 21 Nov 2026 12:00:00 GMT",
      "x-amz-meta-tidemark-nonce": "n1",
    };
    expect((await head({ headers })).result).toEqual({
      sizeBytes: 42,
      etag: '"e"',
      nonce: "n1",
      modifiedAt: Date.UTC(2026, 10, 21, 12),
    });
  });

  test("tells a missing object from a refusal", async () => {
    expect((await head({ status: 404 })).error).toMatchObject({ code: "NO_SUCH_KEY", context: { subject: at.key } });
    expect((await head({ status: 403 })).error).toMatchObject({ code: "ACCESS_DENIED" });
  });
});

describe("deleteObject", () => {
  const remove = (canned: Canned) =>
    against(
      () => canned,
      (client) => deleteObject(client, at),
    );

  test("is content when the object is gone, by this call or before", async () => {
    expect(await remove({ status: 204 })).toMatchObject({ error: null });
    expect(await remove(s3Error(404, "NoSuchKey"))).toMatchObject({ error: null });
  });

  test("is not content with a refusal or a page", async () => {
    expect((await remove(s3Error(403, "AccessDenied"))).error).toMatchObject({ code: "ACCESS_DENIED" });
    expect((await remove(PORTAL)).error).toMatchObject({ code: "INTERCEPTED" });
  });
});

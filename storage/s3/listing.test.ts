import { describe, expect, test } from "vitest";
import { createControlClient } from "./client.ts";
import { listObjectPages, listObjects, listUploads } from "./listing.ts";
import { traitsOf } from "../providers/providers.ts";
import { PORTAL, s3Error, serveCanned, type Canned, type Seen } from "../testing/canned-server.ts";

interface Item {
  key: string;
  size?: number;
}
const object = ({ key, size = 5 }: Item): string =>
  `<Contents><Key>${key}</Key><LastModified>2026-11-21T12:00:00.000Z</LastModified><ETag>&quot;e&quot;</ETag><Size>${size}</Size></Contents>`;
const page = (items: Item[], next: string | null): Canned => ({
  headers: { "content-type": "application/xml" },
  body:
    `<ListBucketResult><Name>training</Name><IsTruncated>${next !== null}</IsTruncated>` +
    (next === null ? "" : `<NextContinuationToken>${next}</NextContinuationToken>`) +
    `${items.map(object).join("")}</ListBucketResult>`,
});

/** Lists `runs/` from a store that answers like this; gives what came and what was asked. */
async function collect<T>(
  answer: (seen: Seen) => Canned,
  list: (client: ReturnType<typeof createControlClient>) => AsyncGenerator<T>,
): Promise<{ items: T[]; seen: Seen[]; error: unknown }> {
  await using server = await serveCanned(answer);
  const client = createControlClient({
    access: {
      endpoint: server.endpoint,
      region: "us-east-1",
      bucket: "training",
      addressing: "path",
      traits: traitsOf("other"),
    },
    credential: { accessKeyId: "key", secretAccessKey: "secret" },
  });
  const items: T[] = [];
  let error: unknown = null;
  try {
    for await (const item of list(client)) items.push(item);
  } catch (thrown) {
    error = thrown;
  }
  client.destroy();
  return { items, seen: server.seen, error };
}
const objectsOf = (answer: (seen: Seen) => Canned, startAfter?: string) =>
  collect(answer, (client) =>
    listObjects(client, { bucket: "training", prefix: "runs/", ...(startAfter !== undefined && { startAfter }) }),
  );

describe("listObjects", () => {
  test("gives every object of every page", async () => {
    const { items, seen, error } = await objectsOf(({ query }) =>
      query.get("continuation-token") === "t/1"
        ? page([{ key: "runs/b" }], null)
        : page([{ key: "runs/a &amp; b", size: 7 }], "t/1"),
    );
    expect(error).toBeNull();
    expect(items).toEqual([
      {
        key: "runs/a & b",
        sizeBytes: 7,
        etag: '"e"',
        modifiedAt: Date.UTC(2026, 10, 21, 12),
        storageClass: null,
      },
      {
        key: "runs/b",
        sizeBytes: 5,
        etag: '"e"',
        modifiedAt: Date.UTC(2026, 10, 21, 12),
        storageClass: null,
      },
    ]);
    expect(seen.map(({ query }) => query.get("prefix"))).toEqual(["runs/", "runs/"]);
  });

  test("starts after a key", async () => {
    const { seen } = await objectsOf(() => page([], null), "runs/a");
    expect(seen[0]?.query.get("start-after")).toBe("runs/a");
  });

  test("reads names that XML cannot carry, and tells those apart that are no UTF-8", async () => {
    const encoded = page([{ key: "runs/a%01%2B+b" }, { key: "runs/caf%E9" }, { key: "runs/z" }], null);
    const body = String(encoded.body).replace("<Name>", "<EncodingType>url</EncodingType><Name>");
    const { items, seen, error } = await collect(
      () => ({ ...encoded, body }),
      (client) => listObjectPages(client, { bucket: "training", prefix: "runs/" }),
    );
    expect(error).toBeNull();
    expect(items.flatMap(({ rows }) => rows.map(({ key }) => key))).toEqual(["runs/a\u0001+ b", "runs/z"]);
    expect(items.flatMap(({ unreadable }) => unreadable)).toEqual(["runs/caf\ufffd"]);
    expect(seen.map(({ query }) => query.get("encoding-type"))).toEqual(["url"]);
  });

  test("knows a truly empty bucket", async () => {
    expect(await objectsOf(() => page([], null))).toMatchObject({ items: [], error: null });
  });

  test.each<[string, Canned, string]>([
    ["a captive portal", PORTAL, "INTERCEPTED"],
    ["a refusal", s3Error(403, "AccessDenied"), "ACCESS_DENIED"],
    ["no word on whether more follows", { body: "<ListBucketResult></ListBucketResult>" }, "UNEXPECTED_ANSWER"],
    [
      "another bucket's listing",
      { ...page([], null), body: String(page([], null).body).replace("training", "x") },
      "UNEXPECTED_ANSWER",
    ],
    ["keys that were not asked for", page([{ key: "other/a" }], null), "UNEXPECTED_ANSWER"],
  ])("never takes %s for an empty list", async (_name, canned, code) => {
    const { items, error } = await objectsOf(() => canned);
    expect(items).toEqual([]);
    expect(error).toMatchObject({ code });
  });

  test("does not end early when a later page fails, and gives what came before", async () => {
    const { items, error } = await objectsOf(({ query }) =>
      query.has("continuation-token") ? PORTAL : page([{ key: "runs/a" }], "t"),
    );
    expect(items).toHaveLength(1);
    expect(error).toMatchObject({ code: "INTERCEPTED" });
  });

  test("does not run in circles", async () => {
    const { seen, error } = await objectsOf(() => page([{ key: "runs/a" }], "same"));
    expect(error).toMatchObject({ code: "UNEXPECTED_ANSWER" });
    expect(seen.length).toBeLessThan(4);
  });
});

describe("listUploads", () => {
  const upload = (key: string, id: string) =>
    `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>2026-11-21T12:00:00.000Z</Initiated></Upload>`;
  const uploads = (inner: string, more: string): Canned => ({
    body: `<ListMultipartUploadsResult><Bucket>training</Bucket>${more}${inner}</ListMultipartUploadsResult>`,
  });
  const uploadsOf = (answer: (seen: Seen) => Canned) =>
    collect(answer, (client) => listUploads(client, { bucket: "training", prefix: "runs/" }));

  test("gives every open upload of every page", async () => {
    const { items, seen, error } = await uploadsOf(({ query }) =>
      query.get("key-marker") === "runs/a" && query.get("upload-id-marker") === "1"
        ? uploads(upload("runs/b", "2"), "<IsTruncated>false</IsTruncated>")
        : uploads(
            upload("runs/a", "1"),
            "<IsTruncated>true</IsTruncated><NextKeyMarker>runs/a</NextKeyMarker><NextUploadIdMarker>1</NextUploadIdMarker>",
          ),
    );
    expect(error).toBeNull();
    expect(seen.map(({ query }) => query.get("encoding-type"))).toEqual(["url", "url"]);
    expect(items).toEqual([
      { key: "runs/a", uploadId: "1", startedAt: Date.UTC(2026, 10, 21, 12) },
      { key: "runs/b", uploadId: "2", startedAt: Date.UTC(2026, 10, 21, 12) },
    ]);
  });

  test("leaves out what lies under another prefix, because the answer may end in aborts", async () => {
    const { items } = await uploadsOf(() => uploads(upload("other/a", "1"), "<IsTruncated>false</IsTruncated>"));
    expect(items).toEqual([]);
  });

  test("does not run in circles", async () => {
    const more = "<IsTruncated>true</IsTruncated><NextKeyMarker>runs/a</NextKeyMarker>";
    expect((await uploadsOf(() => uploads(upload("runs/a", "1"), more))).error).toMatchObject({
      code: "UNEXPECTED_ANSWER",
    });
  });
});

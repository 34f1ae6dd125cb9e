import { fixedCredential } from "#storage/signing/sigv4.ts";
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readCreate } from "#storage/s3/answers.ts";
import { serveCanned } from "#storage/testing/canned-server.ts";
import { callStore } from "#worker/transfer/engine.ts";
import { openTrialStore, type TrialStore } from "#worker/testing/trial-store.ts";
import type { StoreSession } from "#worker/store-session/store-session.ts";
import { listUploads } from "../listing/list-uploads.ts";
import { sweepUploads } from "./sweep-uploads.ts";

let store: TrialStore;
let storeSession: StoreSession;
beforeAll(async () => {
  store = await openTrialStore();
  storeSession = {
    engine: store.engine(),
    access: store.access,
    keys: fixedCredential(store.credential),
    now: Date.now,
    aheadMs: () => 0,
  };
});
afterAll(() => store.close());

const { signal } = new AbortController();

/** An upload that the store begins so long after now. */
async function begin(key: string, afterMs: number): Promise<string> {
  await store.setAhead(afterMs);
  const nonce = randomBytes(16).toString("hex");
  const operation = { op: "create", key, nonce, checksum: "none" } as const;
  const { uploadId } = await callStore(storeSession.engine, { operation, signal }, readCreate);
  await store.setAhead(0);
  return uploadId;
}

const leftOf = async (key: string): Promise<string[]> =>
  (await listUploads(storeSession, { prefix: key, signal })).map(({ uploadId }) => uploadId);

test.each([
  ["before ours", -6_000],
  ["after ours, because it was slower", 6_000],
])("an upload that a lost Create began %s is ended", async (when, afterMs) => {
  const key = `lost ${when}`;
  const uploadId = await begin(key, 0);
  await begin(key, afterMs);
  await sweepUploads(storeSession, { key, uploadId, withinMs: 8_000, signal });
  expect(await leftOf(key)).toEqual([uploadId]);
});

test("uploads whose names XML cannot carry are asked for percent-encoded, and those that are no UTF-8 are left out", async () => {
  const upload = (key: string) =>
    `<Upload><Key>${key}</Key><UploadId>u</UploadId><Initiated>2026-01-01T00:00:00.000Z</Initiated></Upload>`;
  await using odd = await serveCanned(({ query }) => {
    const isEncoded = query.get("encoding-type") === "url";
    // As stores written in Go do with what XML has no place for.
    const names = isEncoded ? ["a+b%2B%01", "a+caf%E9"] : ["a b+\ufffd", "a caf\ufffd"];
    const rows = names.map(upload).join("");
    const said = isEncoded ? "<EncodingType>url</EncodingType>" : "";
    return { body: `<ListMultipartUploadsResult>${said}${rows}</ListMultipartUploadsResult>` };
  });
  const there = { ...storeSession, access: { ...store.access, endpoint: odd.endpoint } };
  const found = await listUploads(there, { prefix: "a ", signal });
  expect(found.map(({ key }) => key)).toEqual(["a b+\u0001"]);
});

test.each(["+", " "])("uploads of a name in which a plus sign is %j are listed", async (sign) => {
  const key = `a${sign}b`;
  await using odd = await serveCanned(() => {
    const rows = `<Upload><Key>a+b</Key><UploadId>u</UploadId><Initiated>2026-01-01T00:00:00.000Z</Initiated></Upload>`;
    return {
      body: `<ListMultipartUploadsResult><EncodingType>url</EncodingType>${rows}</ListMultipartUploadsResult>`,
    };
  });
  const there = { ...storeSession, access: { ...store.access, endpoint: odd.endpoint } };
  expect((await listUploads(there, { prefix: key, signal })).map((upload) => upload.key)).toEqual([key]);
});

test("uploads are listed by their keys where the store encodes names and does not say so", async () => {
  const key = "epoch=5-step=600.ckpt";
  const initiated = "<Initiated>2026-01-01T00:00:00.000Z</Initiated>";
  await using silent = await serveCanned(({ method, query }) => {
    if (method === "DELETE") return { status: 204 };
    const name = query.get("encoding-type") === "url" ? encodeURIComponent(key) : key;
    const rows = ["ours", "lost"].map(
      (id) => `<Upload><Key>${name}</Key><UploadId>${id}</UploadId>${initiated}</Upload>`,
    );
    return { body: `<ListMultipartUploadsResult>${rows.join("")}</ListMultipartUploadsResult>` };
  });
  const there = { ...storeSession, access: { ...store.access, endpoint: silent.endpoint } };
  expect((await listUploads(there, { prefix: key, signal })).map((upload) => upload.key)).toEqual([key, key]);
});

test.each([
  { what: "of an earlier time", withinMs: 8_000, afterMs: -60_000, more: "" },
  { what: "of a later time", withinMs: 8_000, afterMs: 60_000, more: "" },
  { what: "of a later time than any lost request", withinMs: 36_000_000, afterMs: 600_000, more: "" },
  { what: "of a longer name", withinMs: 8_000, afterMs: 0, more: " and longer" },
])("an upload $what is somebody else's", async ({ what, withinMs, afterMs, more }) => {
  const key = `shared, ${what}`;
  const uploadId = await begin(key, 0);
  const other = await begin(`${key}${more}`, afterMs);
  await sweepUploads(storeSession, { key, uploadId, withinMs, signal });
  expect((await leftOf(key)).toSorted()).toEqual([uploadId, other].toSorted());
});

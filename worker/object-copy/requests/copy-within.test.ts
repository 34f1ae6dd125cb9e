import { fixedCredential } from "#storage/signing/sigv4.ts";
import { createHash, randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { readPut } from "#storage/s3/answers.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { callStore } from "#worker/transfer/engine.ts";
import { openTrialStore, type TrialStore } from "#worker/testing/trial-store.ts";
import type { StoreSession } from "#worker/store-session/store-session.ts";
import { compareBytes, compareContent } from "../listing/compare.ts";
import { copyObjects, type ObjectToCopy } from "./copy-within.ts";
import { deleteObjects } from "./delete-objects.ts";
import type { ObjectEntry } from "../listing/entry.ts";
import { findObject, headObject } from "./head.ts";
import { readPieces } from "./read-range.ts";

const MIB = 1024 * 1024;
const { signal } = new AbortController();
let store: TrialStore;
let storeSession: StoreSession;

beforeAll(async () => {
  store = await openTrialStore();
  storeSession = {
    engine: store.engine({ patienceMs: 300 }),
    access: store.access,
    keys: fixedCredential(store.credential),
    now: Date.now,
    aheadMs: () => 0,
  };
});
afterEach(() => store.disarm());
afterAll(() => store.close());

async function put(key: string, content: Buffer): Promise<ObjectEntry> {
  const operation = { op: "put", key, sizeBytes: content.length, crc32: crc32Hex(content), nonce: "n" } as const;
  const { etag } = await callStore(storeSession.engine, { operation, signal, body: content }, readPut);
  return { at: "store", relative: key, key, sizeBytes: content.length, modifiedAtMs: null, etag };
}

const objectOf = ({ key: source, sizeBytes, etag }: ObjectEntry, key: string): ObjectToCopy => ({
  bucket: "trial",
  source,
  key,
  sizeBytes,
  etag,
});
const job = (objects: ObjectToCopy[]) => ({ objects, signal, onStart: () => undefined });

async function digestOf(key: string): Promise<string> {
  const { etag, sizeBytes: length } = await headObject(storeSession, { key, signal });
  const sum = createHash("sha256");
  for await (const piece of readPieces(storeSession, { key, etag, offset: 0, length, ahead: 2, signal }))
    sum.update(piece);
  return sum.digest("hex");
}
const sha256 = (content: Buffer) => createHash("sha256").update(content).digest("hex");

test("an object above the limit of one copy goes in ranges, byte for byte, and none of it crosses the link", async () => {
  const content = randomBytes(12 * MIB + 7);
  const entry = await put("large source+%", content);
  const before = (await store.count("GetObject")).length;
  const counters = await copyObjects(storeSession, {
    ...job([objectOf(entry, "large/copy")]),
    largestWholeBytes: 5 * MIB,
  });
  expect(counters.bytesSure).toBe(content.length);
  expect(counters.sentBytes).toBe(0);
  expect((await store.count("GetObject")).length).toBe(before);
  const parts = (await store.count("UploadPartCopy")).filter(({ key }) => key === "large/copy");
  expect(new Set(parts.map(({ partNumber }) => partNumber))).toEqual(new Set([1, 2, 3]));
  expect(await digestOf("large/copy")).toBe(sha256(content));
});

test("a source that changed since it was listed is not copied, in one piece or in ranges, and no parts stay", async () => {
  const entry = { ...(await put("changing", randomBytes(6 * MIB))), etag: `"${"0".repeat(32)}"` };
  await expect(copyObjects(storeSession, job([objectOf(entry, "c1")]))).rejects.toMatchObject({
    code: "OBJECT_CHANGED",
  });
  const ranges = { ...job([objectOf(entry, "c2")]), largestWholeBytes: 5 * MIB };
  await expect(copyObjects(storeSession, ranges)).rejects.toMatchObject({ code: "OBJECT_CHANGED" });
  expect(await findObject(storeSession, { key: "c1", signal })).toBeNull();
  expect(await findObject(storeSession, { key: "c2", signal })).toBeNull();
  const aborted = (await store.count("AbortMultipartUpload")).find(({ key }) => key === "c2");
  expect(aborted?.succeeded).toBe(1);
});

test("an error inside a 200 is an error, tried again; a lost answer to Complete is not a failure", async () => {
  const content = randomBytes(6 * MIB);
  const entry = await put("rough", content);
  const error = { kind: "error-in-200", code: "InternalError", ending: "newline", work: "skipped" };
  await store.arm({ op: "CopyObject", times: 1, action: error });
  await store.arm({ op: "CompleteMultipartUpload", times: 1, action: { kind: "drop-response" } });
  await copyObjects(storeSession, job([objectOf(entry, "rough1")]));
  await copyObjects(storeSession, { ...job([objectOf(entry, "rough2")]), largestWholeBytes: 5 * MIB });
  expect(await digestOf("rough1")).toBe(sha256(content));
  expect(await digestOf("rough2")).toBe(sha256(content));
});

test("one object that cannot be copied does not stop the others", async () => {
  const [a, b] = [await put("m/a", Buffer.from("a")), await put("m/b", Buffer.from("b"))];
  const gone = { ...a, key: "m/gone" };
  const failed: string[] = [];
  await copyObjects(storeSession, {
    ...job([objectOf(a, "n/a"), objectOf(gone, "n/gone"), objectOf(b, "n/b")]),
    onFileFailed: ({ source }, { code }) => {
      failed.push(`${source} ${code}`);
      return "go on";
    },
  });
  expect(failed).toEqual(["m/gone NO_SUCH_KEY"]);
  expect(await digestOf("n/b")).toBe(sha256(Buffer.from("b")));
});

test("two objects are compared by what the store keeps of them, and byte by byte when asked", async () => {
  const content = randomBytes(5 * MIB + 9);
  const other = Buffer.from(content);
  other[5 * MIB] = (other[5 * MIB] ?? 0) ^ 1;
  const [one, same, flipped] = [await put("v/1", content), await put("v/2", content), await put("v/3", other)];
  const about = { storeSessions: { from: storeSession, to: storeSession }, from: one, signal };
  expect(await compareContent({ ...about, to: same })).toBe("same");
  expect(await compareContent({ ...about, to: flipped })).toBe("differs");
  expect(await compareBytes({ ...about, to: same })).toBe("same");
  expect(await compareBytes({ ...about, to: flipped })).toBe("differs");
  await copyObjects(storeSession, { ...job([objectOf(one, "v/4")]), largestWholeBytes: 5 * MIB });
  const head = await headObject(storeSession, { key: "v/4", signal });
  const inParts = { ...one, key: "v/4", etag: head.etag };
  expect(await compareContent({ ...about, to: inParts })).not.toBe("differs");
});

test("keys with every kind of sign are deleted, thousands at a time; what is refused comes back by name", async () => {
  const keys = ["d/a b", "d/ä&<>\"'", "d/%2F+", "d/日本"];
  for (const key of keys) await put(key, Buffer.from("x"));
  const absent = Array.from({ length: 1200 }, (_, index) => `d/absent-${index}`);
  const deleted: string[] = [];
  const about = {
    signal,
    onDeleted: (objects: readonly { key: string }[]) => void deleted.push(...objects.map(({ key }) => key)),
  };
  expect(
    await deleteObjects(storeSession, { ...about, objects: [...keys, ...absent].map((key) => ({ key })) }),
  ).toEqual([]);
  expect(deleted).toHaveLength(1204);
  for (const key of keys) expect(await findObject(storeSession, { key, signal })).toBeNull();
  expect((await store.count("DeleteObjects")).reduce((sum, { requests }) => sum + requests, 0)).toBe(2);
});

test("where a store cannot delete many, they are deleted one by one", async () => {
  await put("one/a", Buffer.from("x"));
  await store.arm({ op: "DeleteObjects", action: { kind: "error", status: 501, code: "NotImplemented" } });
  expect(
    await deleteObjects(storeSession, { objects: [{ key: "one/a" }], signal, onDeleted: () => undefined }),
  ).toEqual([]);
  expect(await findObject(storeSession, { key: "one/a", signal })).toBeNull();
});

import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { isFault } from "#protocol/faults/fault.ts";
import { readPut } from "#storage/s3/answers.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { callStore } from "../transfer/engine.ts";
import { openTrialStore, type TrialStore } from "../testing/trial-store.ts";
import { createEarlyFetches } from "./fetch-early.ts";
import type { ListedObject } from "./listing/list-objects.ts";

const content = randomBytes(100_000);
const { signal } = new AbortController();
const keys = ["a", "b", "c"];
let store: TrialStore;
let listed: ListedObject[];

beforeAll(async () => {
  store = await openTrialStore();
  const engine = store.engine();
  const sizeBytes = content.length;
  listed = await Promise.all(
    keys.map(async (key) => {
      const operation = { op: "put", key, sizeBytes, crc32: crc32Hex(content), nonce: "n" } as const;
      const { etag } = await callStore(engine, { operation, signal, body: content }, readPut);
      return { key, sizeBytes, etag, modifiedAtMs: null };
    }),
  );
});
afterEach(() => store.disarm());
afterAll(() => store.close());

const begun = async () => (await store.count("GetObject")).map(({ key }) => key).sort();
const meant = (object: ListedObject | undefined) => ({ key: "", sizeBytes: 0, ...object, etag: object?.etag ?? "" });

test("small objects are fetched as they are listed, each for one taker", async () => {
  const early = createEarlyFetches(store.engine(), signal);
  early.offer(listed.slice(0, 2));
  early.offer(listed.slice(1, 2));
  const [a, b, c] = listed;
  expect(await early.take(meant(a))).toMatchObject({ bytes: content, crc32: crc32Hex(content) });
  expect(early.take(meant(a))).toBeNull();
  expect(early.take({ ...meant(b), etag: '"another"' })).toBeNull();
  expect(early.take(meant(c))).toBeNull();
  await expect.poll(begun).toEqual(["a", "b"]);
});

test("no more of them than memory has room for", async () => {
  const early = createEarlyFetches({ ...store.engine(), memoryBytes: 1_200_000 }, signal);
  const many = Array.from({ length: 100 }, (_, index) => ({
    ...meant(listed[0]),
    key: `none-${index}`,
    sizeBytes: 1_000,
    modifiedAtMs: null,
  }));
  early.offer(many);
  const taken = many.filter((object) => early.take(object) !== null);
  expect(taken.length).toBeGreaterThan(30);
  expect(taken.length * 1_000).toBeLessThan(1_200_000 / 6);
  early.drop();
});

test("what is large, or has no ETag to be held to, is left for later", () => {
  const early = createEarlyFetches(store.engine(), signal);
  const [a, b] = listed;
  early.offer([
    { ...meant(a), sizeBytes: 10_000_000, modifiedAtMs: null },
    { ...meant(b), etag: null, modifiedAtMs: null },
  ]);
  expect(early.take({ ...meant(a), sizeBytes: 10_000_000 })).toBeNull();
  expect(early.take(meant(b))).toBeNull();
});

test("what fails says why, and nothing more is begun; nothing comes of what is dropped", async () => {
  await store.arm({ op: "GetObject", times: 1, action: { kind: "error" } });
  const early = createEarlyFetches(store.engine(), signal);
  const [a, b] = listed;
  early.offer(listed.slice(0, 1));
  expect(await early.take(meant(a))).toMatchObject({ code: "THROTTLED" });
  early.offer(listed.slice(1, 2));
  expect(early.take(meant(b))).toBeNull();
  const other = createEarlyFetches(store.engine(), signal);
  await store.arm({ op: "GetObject", times: 1, action: { kind: "delay", ms: 60_000 } });
  other.offer(listed.slice(1, 2));
  const waiting = other.take(meant(b));
  other.drop();
  const dropped = await waiting;
  expect(dropped === null || isFault(dropped)).toBe(true);
});

import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { readPut } from "#storage/answers.ts";
import { crc32Hex } from "#storage/crc32.ts";
import { callStore } from "../engine/engine.ts";
import { openTrialStore, type TrialStore } from "../engine/trial-store.ts";
import { createEarlyFetches } from "./fetch-early.ts";
import type { ListedObject } from "./list-objects.ts";

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

test("small objects are fetched as they are listed, each for one taker, as far as memory goes", async () => {
  const early = createEarlyFetches({ ...store.engine(), memoryBytes: 6 * 250_000 }, signal);
  early.offer(listed);
  const [a, b, c] = listed;
  const fetched = await early.take(meant(a));
  expect(fetched?.bytes.equals(content)).toBe(true);
  expect(fetched?.crc32).toBe(crc32Hex(content));
  expect(early.take(meant(a))).toBeNull();
  expect(early.take({ ...meant(b), etag: '"another"' })).toBeNull();
  expect(early.take(meant(c))).toBeNull();
  await expect.poll(begun).toEqual(["a", "b"]);
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

test("what fails comes to nothing, and so does what is dropped", async () => {
  await store.arm({ op: "GetObject", times: 1, action: { kind: "error" } });
  const early = createEarlyFetches(store.engine(), signal);
  const [a, b] = listed;
  early.offer(listed.slice(0, 1));
  expect(await early.take(meant(a))).toBeNull();
  await store.arm({ op: "GetObject", times: 1, action: { kind: "delay", ms: 60_000 } });
  early.offer(listed.slice(1, 2));
  const waiting = early.take(meant(b));
  early.drop();
  expect(await waiting).toBeNull();
});

import { fixedCredential } from "#storage/sigv4.ts";
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readCreate } from "#storage/answers.ts";
import { callStore } from "../engine/engine.ts";
import { openTrialStore, type TrialStore } from "../engine/trial-store.ts";
import type { Bench } from "./bench.ts";
import { listUploads } from "./list-uploads.ts";
import { sweepUploads } from "./sweep-uploads.ts";

let store: TrialStore;
let bench: Bench;
beforeAll(async () => {
  store = await openTrialStore();
  bench = {
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
  const { uploadId } = await callStore(bench.engine, { operation, signal }, readCreate);
  await store.setAhead(0);
  return uploadId;
}

const leftOf = async (key: string): Promise<string[]> =>
  (await listUploads(bench, { prefix: key, signal })).map(({ uploadId }) => uploadId);

test.each([
  ["before ours", -6_000],
  ["after ours, because it was slower", 6_000],
])("an upload that a lost Create began %s is ended", async (when, afterMs) => {
  const key = `lost ${when}`;
  const uploadId = await begin(key, 0);
  await begin(key, afterMs);
  await sweepUploads(bench, { key, uploadId, withinMs: 8_000, signal });
  expect(await leftOf(key)).toEqual([uploadId]);
});

test("beside one whose name XML cannot carry it is ended all the same", async () => {
  const key = "lost beside";
  const uploadId = await begin(key, 0);
  await begin(key, 6_000);
  await begin(`${key}\u0001+`, 0);
  await sweepUploads(bench, { key, uploadId, withinMs: 8_000, signal });
  const left = await listUploads(bench, { prefix: key, signal });
  expect(left.map((upload) => upload.key)).toEqual([key, `${key}\u0001+`]);
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
  await sweepUploads(bench, { key, uploadId, withinMs, signal });
  expect((await leftOf(key)).toSorted()).toEqual([uploadId, other].toSorted());
});

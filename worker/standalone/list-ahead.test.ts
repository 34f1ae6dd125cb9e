import { expect, it } from "vitest";
import { OWN_FOLDERS } from "#protocol/checkpoint/keys.ts";
import { createBucket, PREFIX, RUN, storeCheckpoint, storeRecord } from "../testing/memory-bucket.ts";
import type { BucketCalls } from "./bucket-calls.ts";
import { listAhead } from "./list-ahead.ts";
import { createRunRecords } from "./run-record.ts";

const FOLDERS = Object.values(OWN_FOLDERS).map((folder) => `${PREFIX}${folder}`);
const MANIFESTS = `${PREFIX}${OWN_FOLDERS.manifests}`;

/** Calls that note which prefixes are listed. */
function noting(calls: BucketCalls): { calls: BucketCalls; listed: string[] } {
  const listed: string[] = [];
  const list: BucketCalls["list"] = (prefix) => {
    listed.push(prefix);
    return calls.list(prefix);
  };
  return { calls: { ...calls, list }, listed };
}

const keysOf = async (listing: AsyncIterable<{ key: string }>): Promise<string[]> => {
  const keys: string[] = [];
  for await (const { key } of listing) keys.push(key);
  return keys;
};

/** Three runs, one of which has a name that begins as another's does. */
function fillBucket() {
  const bucket = createBucket();
  for (const step of [10, 20]) storeCheckpoint(bucket, { epoch: 1, step });
  storeRecord(bucket, {
    checkpointId: "checkpoint-1-20",
    word: { kind: "trash", until: 9_000_000, why: "nobody needs it" },
  });
  const stored = new Map(bucket.objects);
  for (const [key, object] of stored)
    for (const other of ["llama-2", "opt"]) bucket.objects.set(key.replace("/llama/", `/${other}/`), object);
  bucket.objects.set(`${MANIFESTS}left-by-somebody.json`, { text: "", etag: '"o"', modifiedAtMs: 1 });
  return bucket;
}

it("answers what lies in each folder below as its own listing does, with one request for each folder", async () => {
  const bucket = fillBucket();
  const { calls, listed } = noting(bucket.calls);
  const ahead = await listAhead(calls, FOLDERS);
  expect(listed).toEqual(FOLDERS);
  expect(await ahead.folders(MANIFESTS)).toEqual(["llama-2", "llama", "opt"]);
  for (const folder of FOLDERS)
    for (const run of ["llama", "llama-2", "opt", "none"])
      expect(await keysOf(ahead.list(`${folder}${run}/`))).toEqual(await keysOf(bucket.calls.list(`${folder}${run}/`)));
  expect(listed).toEqual(FOLDERS);
});

it("gives the same record of a run as calls that list each run", async () => {
  const bucket = fillBucket();
  const of = (calls: BucketCalls) => createRunRecords(calls, PREFIX).read(RUN);
  const record = await of(await listAhead(bucket.calls, FOLDERS));
  expect(record).toEqual(await of(bucket.calls));
  expect([record.checkpoints.length, record.trashed.length]).toEqual([1, 1]);
});

it("asks the store for what lies elsewhere or deeper", async () => {
  const { calls, listed } = noting(fillBucket().calls);
  const ahead = await listAhead(calls, [MANIFESTS]);
  for (const prefix of [`${PREFIX}keeping/llama/`, `${MANIFESTS}llama/e000001/`, `${MANIFESTS}lla`])
    await keysOf(ahead.list(prefix));
  expect(listed).toEqual([MANIFESTS, `${PREFIX}keeping/llama/`, `${MANIFESTS}llama/e000001/`, `${MANIFESTS}lla`]);
});

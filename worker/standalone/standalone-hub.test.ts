import { beforeEach, expect, test } from "vitest";
import { manifest, type Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { dataKey, manifestKey } from "#protocol/checkpoint/keys.ts";
import { hubMarkKey, LEASE_MS } from "#protocol/checkpoint/writer-lease.ts";
import { attemptId, filePath, nodeName } from "#protocol/base/names.ts";
import { nodeStore } from "#protocol/wire/hello.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import { createBucket, PREFIX, RUN } from "../testing/memory-bucket.ts";
import { createRunClaims } from "./claim-run.ts";
import { createHubMarkWatch } from "./hub-mark.ts";
import { createRunRecords } from "./run-record.ts";
import { createStandaloneHub } from "./standalone-hub.ts";

/** A commit without a hub: the manifest is written last, and only for what the store lists. */

let bucket: ReturnType<typeof createBucket>;
beforeEach(() => {
  bucket = createBucket();
});

/** Starts what stands in the place of a hub for one node. Notes what the bucket is asked. */
function startNode(name: string) {
  const asked: string[] = [];
  const { calls } = bucket;
  const noting = {
    ...calls,
    list: (prefix: string) => {
      asked.push(`list ${prefix}`);
      return calls.list(prefix);
    },
    write: (...write: Parameters<typeof calls.write>) => {
      asked.push(`write ${write[0]}`);
      return calls.write(...write);
    },
  };
  const node = { id: `node-of-${name}`, name: nodeName.parse(name) };
  const hubMark = createHubMarkWatch(calls, { prefix: PREFIX, shown: "s3://b/p" });
  const done = () => Promise.resolve();
  const idle = { claimed: () => undefined, committed: () => undefined, idle: done, finish: done };
  const hub = createStandaloneHub({
    calls: noting,
    records: createRunRecords(calls, PREFIX),
    claims: createRunClaims({ calls, prefix: PREFIX, node, isConditional: true, hubMark }),
    source: { sign: () => Promise.resolve([]) },
    node,
    hubMark,
    store: nodeStore.parse({
      profileId: "standalone",
      profileName: "s3://b/p",
      bucket: "b",
      endpoint: "http://store.invalid",
      prefix: PREFIX,
      traits: { ...traitsOf("minio"), conditionalWrites: true },
    }),
    keyFile: null,
    damaged: new Set(),
    recordDamage: null,
    otherWriters: { found: [], look: () => undefined },
    announceRestore: () => Promise.resolve(() => Promise.resolve()),
    uploadAborter: idle,
    retentionRunner: idle,
    signal: new AbortController().signal,
  });
  const claim = () => hub.ask("claimEpoch", ({ node: asks }) => asks.claimEpoch.mutate({ run: RUN }));
  const commit = (made: Manifest) => hub.ask("commit", ({ node: asks }) => asks.commit.mutate({ manifest: made }));
  return { claim, commit, asked };
}

const attempt = attemptId.parse("attempt000000001");
const keyOf = (epoch: number, path: string): string =>
  dataKey(PREFIX, { run: RUN, epoch, attempt, path: filePath.parse(path) });
const FILES = ["model.safetensors", "optimizer.pt"];

/** Stores the objects of a checkpoint, and returns its manifest. */
function upload(epoch: number): Manifest {
  const files = FILES.map((path) => {
    const key = keyOf(epoch, path);
    bucket.objects.set(key, { text: "12345", etag: '"e"', modifiedAtMs: bucket.clock.now });
    const extent = { key, offset: 0, length: 5, crc32: "00000000", etag: '"e"' };
    return { path: filePath.parse(path), sizeBytes: 5, mtimeMs: 1, sha256: null, extents: [extent] };
  });
  return manifest.parse({
    format: "tidemark.checkpoint",
    version: 1,
    id: "checkpoint-10",
    run: RUN,
    step: 10,
    writerEpoch: epoch,
    parent: null,
    attempt,
    node: { id: "node-of-one", name: "one" },
    framework: null,
    metrics: {},
    capturedAt: 5,
    sizeBytes: 10,
    homes: [{ profileId: "standalone", bucket: "b", prefix: PREFIX }],
    transform: { kind: "none" },
    files,
  });
}
const manifestsStored = (): string[] =>
  [...bucket.objects.keys()].filter((key) => key.startsWith(`${PREFIX}manifests/`));

test("the manifest is written after the objects were listed, as it was submitted", async () => {
  const node = startNode("one");
  await node.claim();
  const made = upload(1);
  node.asked.length = 0;
  await node.commit(made);
  const key = manifestKey(PREFIX, { run: RUN, epoch: 1, step: 10, checkpointId: made.id, attempt });
  expect(manifestsStored()).toEqual([key]);
  expect(manifest.parse(JSON.parse(bucket.objects.get(key)?.text ?? ""))).toEqual(made);
  expect(node.asked[0]).toBe(`list ${PREFIX}runs/${RUN}/e000001/${attempt}/`);
  expect(node.asked).toContain(`write ${key}`);
  // The same again, as after a lost answer, is no other checkpoint.
  await node.commit(made);
  expect(manifestsStored()).toEqual([key]);
});

test.each([
  ["is not there", "NO_SUCH_KEY", () => bucket.objects.delete(keyOf(1, "optimizer.pt"))],
  [
    "has another size",
    "SIZE_MISMATCH",
    () => bucket.objects.set(keyOf(1, "optimizer.pt"), { text: "1234", etag: '"e"', modifiedAtMs: 1 }),
  ],
  [
    "was replaced",
    "OBJECT_CHANGED",
    () => bucket.objects.set(keyOf(1, "optimizer.pt"), { text: "abcde", etag: '"x"', modifiedAtMs: 1 }),
  ],
])("of a checkpoint with an object that %s no manifest is written", async (_what, code, change) => {
  const node = startNode("one");
  await node.claim();
  const made = upload(1);
  change();
  await expect(node.commit(made)).rejects.toMatchObject({ code });
  expect(manifestsStored()).toEqual([]);
});

test("a node that another one replaced, and one whose prefix a hub keeps, write none", async () => {
  const [one, two] = [startNode("one"), startNode("two")];
  await one.claim();
  bucket.clock.now += LEASE_MS + 1_000;
  await two.claim();
  await expect(one.commit(upload(1))).rejects.toMatchObject({ code: "EPOCH_OVER" });
  bucket.objects.set(hubMarkKey(PREFIX), { text: "{}", etag: '"h"', modifiedAtMs: 1 });
  await expect(two.commit(upload(2))).rejects.toMatchObject({ code: "PREFIX_OF_HUB" });
  expect(manifestsStored()).toEqual([]);
});

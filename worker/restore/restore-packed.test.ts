import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { manifest as manifestSchema, type Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { DEFAULT_PACKING, type Packing } from "#protocol/checkpoint/packing.ts";
import { createDirectSource } from "#storage/signing/direct-source.ts";
import { createEngine, type Engine } from "../transfer/engine.ts";
import type { ProgressCounters } from "../transfer/progress/transfer-progress.ts";
import { openTrialStore, type TrialStore } from "../testing/trial-store.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import type { Capture } from "../capture/capture.ts";
import { sendCapture } from "../upload/upload.ts";
import { restore } from "./restore.ts";
import type { RestoreJob } from "./restore-job.ts";
import { takeFolder } from "../testing/stage-capture.ts";
import { restoreJobOf, STAGED_DATE_MS } from "../testing/stage-stored.ts";

const FILES = 300;
const BIG_BYTES = 1_000_000;
let store: TrialStore;
let folder: string;
let contents: Map<string, Buffer>;

beforeAll(async () => {
  store = await openTrialStore();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-packed-"));
  contents = new Map<string, Buffer>([["model.bin", randomBytes(BIG_BYTES)]]);
  for (let number = 0; number < FILES; number++) {
    const isText = number % 2 === 0;
    const bytes = isText ? Buffer.from(`{"n": ${number}}\n`.repeat(2_000)) : randomBytes(8_000 + number);
    contents.set(`shards/${number % 7}/${number}.${isText ? "json" : "npy"}`, bytes);
  }
  contents.set("empty", Buffer.alloc(0));
});
afterEach(async () => {
  await store.disarm();
  await rm(folder, { recursive: true, force: true });
});
afterAll(() => store.close());

const takeAll = (packing: Packing, parts?: { partBytes: number; minPartBytes: number }): Promise<Capture> =>
  takeFolder(contents, { folder, store, packing, partBytes: null, ...parts });

async function save(
  capture: Capture,
  engine: Engine = store.engine(),
  onStart: (counters: ProgressCounters) => void = () => undefined,
): Promise<Manifest> {
  const at = { profileId: "profile-id-1", profileName: "p", bucket: "trial", prefix: "", endpoint: "" };
  const sent = await sendCapture(engine, {
    capture,
    claim: { epoch: 1, parent: null, newest: null },
    node: { id: "node-id-1", name: "gpu-1" },
    store: { ...at, traits: store.access.traits },
    hub: createFakeHub({}),
    journals: join(folder, "uploads"),
    signal: new AbortController().signal,
    onStart,
  });
  return manifestSchema.parse(sent);
}

const target = () => join(folder, "out", "checkpoint-500");
const restoreJob = (manifest: Manifest, change: Partial<RestoreJob> = {}): RestoreJob => ({
  ...restoreJobOf(manifest, { folder, target: target(), given: manifest }),
  ...change,
});

async function expectRestored(): Promise<void> {
  for (const [name, bytes] of contents) {
    const place = join(target(), name);
    expect((await readFile(place)).equals(bytes)).toBe(true);
    expect((await stat(place)).mtimeMs).toBe(STAGED_DATE_MS);
  }
  const found = await readdir(target(), { recursive: true, withFileTypes: true });
  expect(found.filter((entry) => entry.isFile())).toHaveLength(contents.size);
}

const requestsOf = async (op: string, { attempt }: Manifest) =>
  (await store.count(op)).filter(({ key }) => key.includes(attempt));
const keysOf = ({ files }: Manifest) => new Set(files.flatMap(({ extents }) => extents.map(({ key }) => key)));

test("small files travel in packs both ways, and what is counted are their own bytes", async () => {
  const capture = await takeAll(DEFAULT_PACKING);
  const seen: { counters: ProgressCounters | null } = { counters: null };
  const manifest = await save(capture, store.engine(), (counters) => (seen.counters = counters));
  expect(manifest.transform).toEqual({ kind: "none" });
  expect(keysOf(manifest).size).toBeLessThan(12);
  expect(await requestsOf("PutObject", manifest)).toHaveLength(keysOf(manifest).size);
  expect(seen.counters).toMatchObject({
    filesTotal: contents.size,
    filesDone: contents.size,
    bytesTotal: capture.sizeBytes,
    bytesSure: capture.sizeBytes,
    bytesDone: capture.sizeBytes,
    sentBytes: capture.sizeBytes,
  });
  const counters = await restore(store.engine(), restoreJob(manifest));
  expect(counters).toMatchObject({
    filesDone: contents.size,
    bytesSure: capture.sizeBytes,
    sentBytes: capture.sizeBytes,
  });
  await expectRestored();
  const gets = await requestsOf("GetObject", manifest);
  expect(gets.reduce((sum, { requests }) => sum + requests, 0)).toBeLessThan(40);
});

test("compressed, fewer bytes move, and the counts end at those of the files", async () => {
  const capture = await takeAll({ ...DEFAULT_PACKING, zstd: true });
  const seen: { counters: ProgressCounters | null } = { counters: null };
  const manifest = await save(capture, store.engine(), (counters) => (seen.counters = counters));
  expect(manifest.transform).toEqual({ kind: "zstd" });
  const framed = manifest.files.filter(({ extents }) => extents.some(({ stored }) => stored !== undefined));
  expect(framed.map(({ path }) => path).every((path) => path.endsWith(".json"))).toBe(true);
  expect(framed).toHaveLength(FILES / 2);
  expect(seen.counters).toMatchObject({ bytesSure: capture.sizeBytes, bytesDone: capture.sizeBytes });
  expect(seen.counters?.sentBytes).toBeLessThan(capture.sizeBytes / 2);
  const counters = await restore(store.engine(), restoreJob(manifest));
  expect(counters).toMatchObject({ bytesSure: capture.sizeBytes, bytesDone: capture.sizeBytes });
  expect(counters.sentBytes).toBeLessThan(capture.sizeBytes / 2);
  await expectRestored();
});

test("a pack that fails is sent again alone, and one that changed on its way back is fetched again", async () => {
  const capture = await takeAll(DEFAULT_PACKING);
  await store.arm({ op: "PutObject", times: 1, action: { kind: "flip", side: "request", offset: 100_000 } });
  const manifest = await save(capture);
  const puts = await requestsOf("PutObject", manifest);
  expect(puts.reduce((sum, { requests }) => sum + requests, 0)).toBe(puts.length + 1);
  expect(puts.filter(({ requests }) => requests > 1)).toMatchObject([{ requests: 2, succeeded: 1 }]);
  await store.arm({ op: "GetObject", times: 1, action: { kind: "flip", side: "response", offset: 50_000 } });
  const counters = await restore(store.engine(), restoreJob(manifest));
  expect(counters.retries).toBe(1);
  await expectRestored();
});

test("a store that wants MD5s gets that of each pack", async () => {
  const capture = await takeAll(DEFAULT_PACKING);
  const { access, credential } = store;
  const traits = { ...access.traits, checksum: "md5" } as const;
  const source = createDirectSource({ access: { ...access, traits }, credential });
  const engine = createEngine({ source, traits, connections: 4, limitBytesPerSecond: 0, signerNow: source.now });
  await restore(store.engine(), restoreJob(await save(capture, engine)));
  await engine.close();
  await expectRestored();
});

test("a manifest that says wrong sums of files in a pack leaves the disk as it was", async () => {
  const manifest = await save(await takeAll(DEFAULT_PACKING));
  const file = manifest.files.find(({ path }) => path === "shards/1/1.npy");
  for (const extent of file?.extents ?? []) extent.crc32 = "00000000";
  await expect(restore(store.engine(), restoreJob(manifest))).rejects.toMatchObject({ code: "CHECKSUM_MISMATCH" });
  await expect(stat(target())).rejects.toMatchObject({ code: "ENOENT" });
});

test("what was written before a stop is looked at and not fetched again, unless it is not what it should be", async () => {
  const manifest = await save(await takeAll(DEFAULT_PACKING));
  const stop = new AbortController();
  const job = restoreJob(manifest, { beforePlaced: () => Promise.reject(new Error("stopped")) });
  await expect(restore(store.engine(), { ...job, signal: stop.signal })).rejects.toThrow("stopped");
  const [staging = ""] = (await readdir(join(folder, "out"))).map((name) => join(folder, "out", name));
  const damaged = contents.get("shards/1/1.npy")?.length ?? 0;
  await writeFile(join(staging, "shards/1/1.npy"), randomBytes(damaged));
  const counters = await restore(store.engine(), restoreJob(manifest));
  expect(counters).toMatchObject({ sentBytes: damaged, filesDone: contents.size, bytesSure: manifest.sizeBytes });
  await expectRestored();
});

test("one file of a pack is one request for its bytes alone", async () => {
  for (const zstd of [false, true]) {
    const whole = await save(await takeAll({ ...DEFAULT_PACKING, zstd }));
    const files = whole.files.filter(({ path }) => path === "shards/6/6.json");
    const one = { ...whole, files, sizeBytes: files[0]?.sizeBytes ?? 0 };
    const counters = await restore(store.engine(), restoreJob(one));
    const gets = await requestsOf("GetObject", whole);
    expect(gets.map(({ requests }) => requests)).toEqual([1]);
    const [extent] = files[0]?.extents ?? [];
    expect(counters.sentBytes).toBe(extent?.stored?.length ?? extent?.length);
    expect(
      (await readFile(join(target(), "shards/6/6.json"))).equals(contents.get("shards/6/6.json") ?? Buffer.alloc(0)),
    ).toBe(true);
    await rm(join(folder, "checkpoint-500"), { recursive: true });
  }
});

test("some files of a pack are read together with what lies between them, and only they are written", async () => {
  const whole = await save(await takeAll(DEFAULT_PACKING));
  const files = whole.files.filter(({ path }) => /^shards\/\d\/\d*[05]\./.test(path));
  const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
  const some = { ...whole, files, sizeBytes };
  contents = new Map([...contents].filter(([name]) => files.some(({ path }) => path === name)));
  expect(contents.size).toBe(FILES / 5);
  const counters = await restore(store.engine(), restoreJob(some));
  expect(counters).toMatchObject({ bytesSure: sizeBytes, bytesDone: sizeBytes, filesDone: FILES / 5 });
  await expectRestored();
  const gets = await requestsOf("GetObject", whole);
  expect(gets.reduce((sum, { requests }) => sum + requests, 0)).toBeLessThan(files.length / 2);
});

test("a small file that was linked rather than copied has one sum in its pack, however small parts are", async () => {
  for (let number = 0; number < 40; number++) contents.set(`ranks/${number}.safetensors`, randomBytes(3_000_000 / 20));
  contents.set("ranks/large.safetensors", randomBytes(3_500_000));
  const packing = { belowBytes: 4 * 1024 * 1024, zstd: false };
  const capture = await takeAll(packing, { partBytes: 1024 * 1024, minPartBytes: 1024 * 1024 });
  expect(capture.files.find(({ path }) => path === "ranks/large.safetensors")).toMatchObject({
    pack: expect.any(Number),
  });
  await restore(store.engine(), restoreJob(await save(capture)));
  await expectRestored();
});

import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { manifest as manifestSchema, type Manifest } from "#protocol/checkpoint/checkpoint.ts";
import type { DamageReport } from "#protocol/checkpoint/damage.ts";
import { filePath } from "#protocol/base/names.ts";
import { DEFAULT_PACKING, packPath } from "#protocol/checkpoint/packing.ts";
import { SEGMENT_BYTES } from "#protocol/checkpoint/sealing.ts";
import { createDirectSource } from "#storage/signing/direct-source.ts";
import { unwrapCheckpointKey } from "#storage/encryption/checkpoint-key.ts";
import { makeKeyPair } from "#storage/encryption/hpke.ts";
import { makeSafetensors, sumPlainly } from "#storage/testing/plain-safetensors.ts";
import { createEngine, type Engine } from "../transfer/engine.ts";
import { readIdentity } from "../base/identity.ts";
import type { ProgressCounters } from "../transfer/progress/transfer-progress.ts";
import { openTrialStore, type TrialStore } from "../testing/trial-store.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import type { Capture } from "../capture/capture.ts";
import { newAttempt } from "../capture/snapshot.ts";
import { sendCapture } from "../upload/upload.ts";
import { verify } from "../verification/verify.ts";
import { restore } from "./restore.ts";
import type { RestoreJob } from "./restore-job.ts";
import { takeFolder } from "../testing/stage-capture.ts";

const MIB = 1024 * 1024;
const keyId = "seal-key-1";
const pair = makeKeyPair();
const SECRET = "the name of what nobody may know";
let store: TrialStore;
let folder: string;
let contents: Map<string, Buffer>;

beforeAll(async () => {
  store = await openTrialStore();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-sealed-"));
  contents = new Map<string, Buffer>([
    // One is copied, one is linked; both have several parts, and ends that are in no whole segment.
    ["optimizer.pt", randomBytes(12 * MIB + 77)],
    ["model.safetensors", randomBytes(11 * MIB)],
    ["small.bin", randomBytes(600_000)],
    ["empty", Buffer.alloc(0)],
  ]);
  for (let number = 0; number < 60; number++) {
    const isText = number % 2 === 0;
    const bytes = isText
      ? Buffer.from(`{"secret": "${SECRET}", "n": ${number}}\n`.repeat(300))
      : randomBytes(8_000 + number);
    contents.set(`hush-hush/${number % 3}/${number}.${isText ? "json" : "npy"}`, bytes);
  }
});
afterEach(async () => {
  await store.disarm();
  await rm(folder, { recursive: true, force: true });
});
afterAll(() => store.close());

const take = (): Promise<Capture> =>
  takeFolder(contents, { folder, store, packing: { ...DEFAULT_PACKING, zstd: true }, partBytes: 5 * MIB });

interface Saving {
  engine?: Engine;
  hideNames?: boolean;
  signal?: AbortSignal;
  onStart?: (counters: ProgressCounters) => void;
}

async function save(capture: Capture, about: Saving = {}): Promise<Manifest> {
  const at = { profileId: "profile-id-1", profileName: "p", bucket: "trial", prefix: "", endpoint: "" };
  const sealing = { keyId, publicKey: pair.publicKey.toString("base64url"), hideNames: about.hideNames ?? false };
  const sent = await sendCapture(about.engine ?? store.engine(), {
    capture,
    claim: { epoch: 1, parent: null, newest: null },
    node: { id: "node-id-1", name: "gpu-1" },
    store: { ...at, traits: store.access.traits, sealing },
    hub: createFakeHub({}),
    journals: join(folder, "uploads"),
    signal: about.signal ?? new AbortController().signal,
    onStart: about.onStart ?? (() => undefined),
  });
  return manifestSchema.parse(sent);
}

/** As the hub does it. */
function keyOf({ id, run, step, transform }: Manifest): Buffer {
  if (transform.kind !== "sealed") throw new Error("it is not sealed");
  return unwrapCheckpointKey(pair.privateKey, transform.wrapped, { keyId, id, run, step });
}

const target = () => join(folder, "out", "checkpoint-500");
function restoreJob(manifest: Manifest, change: Partial<RestoreJob> = {}): RestoreJob {
  const key = keyOf(manifest).toString("base64url");
  return {
    command: {
      kind: "restore",
      id: "command-id-1",
      transferId: "transfer-id-1",
      checkpointId: manifest.id,
      run: manifest.run,
      step: manifest.step,
      targetPath: target(),
    },
    hub: createFakeHub({ readCheckpoint: () => ({ manifest, sha256: "" }), releaseKey: () => ({ key }) }),
    journals: join(folder, "journals"),
    signal: new AbortController().signal,
    onStart: () => undefined,
    beforePlaced: async () => undefined,
    replaced: {},
    ...change,
  };
}

async function expectRestored(): Promise<void> {
  for (const [name, bytes] of contents) expect((await readFile(join(target(), name))).equals(bytes), name).toBe(true);
  const found = await readdir(target(), { recursive: true, withFileTypes: true });
  expect(found.filter((entry) => entry.isFile())).toHaveLength(contents.size);
}
const expectNothing = () => expect(stat(target())).rejects.toMatchObject({ code: "ENOENT" });

/** Everything that lies in the store: its blobs and its catalogue. */
async function storedBytes(): Promise<Buffer> {
  const entries = await readdir(join(store.folder, "store"), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Buffer.concat(await Promise.all(files.map((path) => readFile(path))));
}

test.each([false, true])(
  "comes back as it was, and nothing of it can be read in the store (names hidden: %s)",
  async (hideNames) => {
    const capture = await take();
    const seen: { counters: ProgressCounters | null } = { counters: null };
    const manifest = await save(capture, { hideNames, onStart: (counters) => (seen.counters = counters) });
    expect(seen.counters).toMatchObject({
      filesDone: contents.size,
      bytesSure: capture.sizeBytes,
      bytesDone: capture.sizeBytes,
    });
    const counters = await restore(store.engine(), restoreJob(manifest));
    expect(counters).toMatchObject({
      filesDone: contents.size,
      bytesSure: capture.sizeBytes,
      bytesDone: capture.sizeBytes,
    });
    await expectRestored();
    const text = JSON.stringify(manifest);
    for (const name of ["optimizer.pt", "hush-hush"]) expect(text.includes(name)).toBe(!hideNames);
    if (!hideNames) return;
    const stored = await storedBytes();
    const heads = [...contents.values()].filter(({ length }) => length > 64).map((bytes) => bytes.subarray(0, 64));
    expect(heads.filter((head) => stored.includes(head))).toEqual([]);
    expect(stored.includes(Buffer.from(SECRET))).toBe(false);
    expect(manifest.files.flatMap(({ extents }) => extents).every(({ key }) => key.includes("/_tidemark."))).toBe(true);
  },
);

test("is compared without any key, and what was changed is named", async () => {
  const manifest = await save(await take());
  const check = (read: Manifest) =>
    verify(store.engine(), {
      manifest: read,
      transferId: "verify-id-1",
      journals: join(folder, "verifies"),
      signal: new AbortController().signal,
      onStart: () => undefined,
      turn: async () => undefined,
      rest: async () => undefined,
    });
  await mkdir(join(folder, "verifies"));
  expect((await check(manifest)).damage).toBeNull();
  await store.arm({
    op: "GetObject",
    keyPattern: "*optimizer.pt",
    action: { kind: "flip", side: "response", offset: 1000 },
  });
  const { damage } = await check(manifest);
  expect(damage?.ranges[0]).toMatchObject({ path: "optimizer.pt", fault: { code: "CHECKSUM_MISMATCH" } });
});

test("a bit that changes on its way is fetched again, and one that stays changed is refused and named", async () => {
  const manifest = await save(await take());
  await store.arm({ op: "GetObject", times: 2, action: { kind: "flip", side: "response", offset: 300_000 } });
  const counters = await restore(store.engine(), restoreJob(manifest));
  expect(counters.retries).toBeGreaterThan(0);
  await expectRestored();
  await rm(target(), { recursive: true });
  const code = "SEAL_BROKEN";
  for (const key of ["optimizer.pt", "model.safetensors", "small.bin", "00001.pack"]) {
    await store.arm({
      op: "GetObject",
      keyPattern: `*${key}`,
      action: { kind: "flip", side: "response", offset: 5_000 },
    });
    const told: DamageReport[] = [];
    const job = restoreJob(manifest, { onDamage: (damage) => told.push(damage) });
    await expect(restore(store.engine(), job)).rejects.toMatchObject({ code });
    expect(told[0]?.ranges[0]?.fault.code).toBe(code);
    await expectNothing();
    await rm(join(folder, "out"), { recursive: true });
    await rm(join(folder, "journals"), { recursive: true });
    await store.disarm();
  }
});

test("files that were exchanged, renamed, cut or given the key of another checkpoint do not open", async () => {
  contents.set("twin.safetensors", randomBytes(11 * MIB));
  const manifest = await save(await take());
  const other = await save(await take());
  const file = (path: string) => manifest.files.find((one) => one.path === path);
  const [model, twin] = [file("model.safetensors"), file("twin.safetensors")];
  const small = file("small.bin");
  if (model === undefined || twin === undefined || small === undefined) throw new Error("no such file");
  const only = (files: Manifest["files"]): Manifest => ({ ...manifest, files });
  const replaced = (path: string, change: Partial<Manifest["files"][number]>) =>
    only(manifest.files.map((one) => (one.path === path ? { ...one, ...change } : one)));
  const wrong: [string, Manifest][] = [
    ["another file's bytes", replaced("model.safetensors", { extents: twin.extents })],
    ["another file's name", replaced("small.bin", { path: filePath.parse("renamed.bin") })],
    [
      "parts in another order",
      replaced("model.safetensors", { extents: [model.extents[1] ?? [], ...model.extents.slice(1)].flat() }),
    ],
    ["another checkpoint's inside", { ...manifest, transform: other.transform }],
    ["another step", { ...manifest, step: 501 }],
  ];
  for (const [what, changed] of wrong) {
    const job = restoreJob(manifest, {});
    const key = keyOf(manifest).toString("base64url");
    const hub = createFakeHub({
      readCheckpoint: () => ({ manifest: changed, sha256: "" }),
      releaseKey: () => ({ key }),
    });
    await expect(restore(store.engine(), { ...job, hub }), what).rejects.toMatchObject({ code: "SEAL_BROKEN" });
    await expectNothing();
  }
  expect(() => keyOf({ ...manifest, transform: other.transform })).toThrow(
    expect.objectContaining({ code: "SEAL_BROKEN" }),
  );
});

test("an upload that was stopped goes on with the parts it has: they are the same bytes", async () => {
  const capture = await take();
  const stop = new AbortController();
  await store.arm({ op: "UploadPart", partNumber: 2, action: { kind: "stall", side: "request", afterBytes: 1000 } });
  const stopped = save(capture, {
    signal: stop.signal,
    engine: store.engine({ connections: 3 }),
    onStart: (counters) => {
      const look = setInterval(() => {
        if (counters.bytesSure < 5 * MIB) return;
        clearInterval(look);
        stop.abort();
      }, 10);
    },
  });
  await expect(stopped).rejects.toThrow();
  const before = (await store.count("UploadPart")).filter(
    ({ succeeded, key }) => succeeded > 0 && key.includes(capture.attempt),
  );
  expect(before.length).toBeGreaterThan(0);
  await store.disarm();
  const manifest = await save(capture);
  const after = await store.count("UploadPart");
  for (const { key, partNumber } of before) {
    expect(after.find((one) => one.key === key && one.partNumber === partNumber)?.succeeded).toBe(1);
  }
  // And it is told in the same words, so that a commit may be repeated.
  expect(await save(capture)).toEqual(manifest);
  await restore(store.engine(), restoreJob(manifest));
  await expectRestored();
});

test.each(["hush-hush/1/1.npy", "optimizer.pt", "model.safetensors"])(
  "no byte of %s leaves under the key it was sealed with once it changed, though nothing but its bytes tells",
  async (path) => {
    const capture = await take();
    const stop = new AbortController();
    await expect(save(capture, { signal: stop.signal, onStart: () => stop.abort() })).rejects.toThrow();
    const file = capture.files.find((one) => one.path === path);
    if (file === undefined) throw new Error("no such file");
    const object = file.pack === undefined ? path : packPath(file.pack);
    const bytes = Buffer.from(contents.get(path) ?? "");
    bytes[100] = (bytes[100] ?? 0) ^ 1;
    await writeFile(file.at, bytes);
    file.identity = await readIdentity(file.at);
    await expect(save(capture)).rejects.toMatchObject({ code: "SOURCE_CHANGED" });
    const sent = [...(await store.count("UploadPart")), ...(await store.count("PutObject"))].filter(
      ({ key, partNumber = 1 }) => key.includes(capture.attempt) && key.endsWith(object) && partNumber === 1,
    );
    expect(sent.filter(({ succeeded }) => succeeded > 0)).toEqual([]);
  },
);

test("another key is another capture: nothing that was sent under the first one counts", async () => {
  const capture = await take();
  const first = await save(capture);
  await rm(join(capture.folder, "seal.tags"));
  capture.attempt = newAttempt();
  const second = await save(capture);
  expect(keyOf(second)).not.toEqual(keyOf(first));
  await restore(store.engine(), restoreJob(second));
  await expectRestored();
});

test("a restore that was stopped goes on with what it had, and some files are restored without the others", async () => {
  const manifest = await save(await take());
  const job = restoreJob(manifest, { beforePlaced: () => Promise.reject(new Error("stopped")) });
  await expect(restore(store.engine(), job)).rejects.toThrow("stopped");
  const counters = await restore(store.engine(), restoreJob(manifest));
  expect(counters).toMatchObject({ sentBytes: 0, bytesSure: manifest.sizeBytes });
  await expectRestored();
  await rm(target(), { recursive: true });
  const files = [filePath.parse("small.bin"), filePath.parse("hush-hush/0/0.json")];
  const some = restoreJob(manifest);
  await restore(store.engine(), { ...some, command: { ...some.command, files } });
  contents = new Map([...contents].filter(([name]) => files.some((path) => path === name)));
  await expectRestored();
});

test("connections that break in the middle of segments cost a segment, not the piece", async () => {
  const manifest = await save(await take());
  await store.arm({
    op: "GetObject",
    times: 6,
    action: { kind: "reset", at: "response", afterBytes: SEGMENT_BYTES + 1000 },
  });
  const counters = await restore(store.engine(), restoreJob(manifest));
  await expectRestored();
  expect(counters.bytesSure).toBe(manifest.sizeBytes);
});

test("a store that wants MD5s gets those of the encrypted parts", async () => {
  const { access, credential } = store;
  const traits = { ...access.traits, checksum: "md5" } as const;
  const source = createDirectSource({ access: { ...access, traits }, credential });
  const engine = createEngine({ source, traits, connections: 4, limitBytesPerSecond: 0, signerNow: source.now });
  await restore(store.engine(), restoreJob(await save(await take(), { engine })));
  await engine.close();
  await expectRestored();
});

test("tensors are cut out of it, from files of several parts and from packed ones, and only their parts are fetched", async () => {
  const tensor = (name: string, bytes: number) => ({ name, dtype: "U8", shape: [bytes], bytes: randomBytes(bytes) });
  const large = [tensor("layers.0.w", 6 * MIB + 3), tensor("layers.1.w", 6 * MIB), tensor("head.w", 4 * MIB)];
  const small = [tensor("adapter.a", 5_000), tensor("adapter.b", 70)];
  contents.set("model.safetensors", makeSafetensors(large));
  contents.set("small.safetensors", makeSafetensors(small));
  const map = (name: string) => (name.startsWith("adapter") ? "small.safetensors" : "model.safetensors");
  const index = { weight_map: Object.fromEntries([...large, ...small].map(({ name }) => [name, map(name)])) };
  contents.set("model.safetensors.index.json", Buffer.from(JSON.stringify({ ...index, note: "again ".repeat(500) })));
  for (const hideNames of [false, true]) {
    const manifest = await save(await take(), { hideNames });
    const { command, ...job } = restoreJob(manifest);
    const cut = (change: Partial<RestoreJob> = {}) =>
      restore(store.engine(), { ...job, command: { ...command, tensors: ["head.w", "adapter.b"] }, ...change });
    const told: DamageReport[] = [];
    const [key] =
      manifest.files.find(({ sizeBytes }) => sizeBytes === contents.get("model.safetensors")?.length)?.extents ?? [];
    // The header comes wrong once.
    const flip = { op: "GetObject", keyPattern: key?.key, action: { kind: "flip", side: "response", offset: 40 } };
    await store.arm({ ...flip, times: 1 });
    const counters = await cut({ onDamage: (damage) => told.push(damage) });
    expect(told).toEqual([]);
    const landed = async (path: string) => sumPlainly(await readFile(join(target(), path))).tensors;
    const sums = (tensors: typeof large, name: string) =>
      sumPlainly(makeSafetensors(tensors)).tensors.filter((one) => one.name === name);
    expect(await landed("model.safetensors")).toEqual(sums(large, "head.w"));
    expect(await landed("small.safetensors")).toEqual(sums(small, "adapter.b"));
    expect(JSON.parse(await readFile(join(target(), "model.safetensors.index.json"), "utf8"))).toMatchObject({
      weight_map: { "head.w": "model.safetensors", "adapter.b": "small.safetensors" },
    });
    // The part of the header and the two that the tensor lies in, of four.
    expect(counters.bytesTotal).toBeLessThan(16 * MIB - 1);
    await rm(target(), { recursive: true });
    await store.disarm();
    // What stays wrong is damage of its file.
    await store.arm(flip);
    await expect(cut({ onDamage: (damage) => told.push(damage) })).rejects.toMatchObject({
      code: expect.stringMatching(/^(CHECKSUM_MISMATCH|SEAL_BROKEN)$/),
    });
    expect(told).toMatchObject([{ ranges: [{ path: "model.safetensors" }] }]);
    await expectNothing();
    await rm(join(folder, "journals"), { recursive: true });
    await rm(join(folder, "out"), { recursive: true });
    await store.disarm();
  }
});

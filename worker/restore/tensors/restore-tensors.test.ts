import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { adoptedManifest } from "#protocol/checkpoint/adopted.ts";
import { manifest as manifestSchema, type Manifest } from "#protocol/checkpoint/checkpoint.ts";
import type { DamageReport } from "#protocol/checkpoint/damage.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { filePath } from "#protocol/base/names.ts";
import { randomFrom } from "#protocol/base/random-from.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { makeSafetensors, sumPlainly, type PlainTensor } from "#storage/testing/plain-safetensors.ts";
import { openTrialStore, type TrialStore } from "#worker/testing/trial-store.ts";
import { clearRestore, restore } from "../restore.ts";
import type { RestoreJob } from "../restore-job.ts";
import {
  restoreJobOf,
  STAGED_DATE_MS,
  STAGED_HEAD,
  stopOnceSure,
  storeBytes,
  type StoredFile,
} from "#worker/testing/stage-stored.ts";

const MIB = 1024 * 1024;
const PIECE_BYTES = 256 * 1024;
const INDEX = "model.safetensors.index.json";
const SHARDS = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"] as const;

let store: TrialStore;
let shards: Buffer[];
let stored: Map<string, StoredFile>;
let manifest: Manifest;
let folder: string;
let target: string;

const next = randomFrom(7);
const tensor = (name: string, elements: number): PlainTensor => {
  const bytes = Buffer.alloc(elements * 4);
  for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE(Math.floor(next() * 2 ** 32), at);
  return { name, dtype: "F32", shape: [elements], bytes };
};

beforeAll(async () => {
  store = await openTrialStore();
  const layers = (from: number) =>
    Array.from({ length: 4 }, (_, at) => tensor(`model.layers.${from + at}.w`, MIB / 16));
  shards = [
    makeSafetensors([tensor("model.embed_tokens.weight", MIB / 8), ...layers(0)], { metadata: { format: "pt" } }),
    makeSafetensors([...layers(4), tensor("lm_head.weight", 100)], { metadata: { format: "pt" } }),
  ];
  const map = SHARDS.flatMap((file, at) =>
    sumPlainly(shards[at] ?? Buffer.alloc(0)).tensors.map(({ name }) => [name, file]),
  );
  const index = { metadata: { total_size: 1 }, weight_map: Object.fromEntries(map) as Record<string, string> };
  const all: [string, Buffer][] = [
    [INDEX, Buffer.from(JSON.stringify(index))],
    [SHARDS[0], shards[0] ?? Buffer.alloc(0)],
    [SHARDS[1], shards[1] ?? Buffer.alloc(0)],
    ["optimizer.pt", Buffer.from("PK not for us")],
    ["broken.safetensors", Buffer.from("\u0010\0\0\0\0\0\0\0{ this is broken")],
  ];
  stored = new Map();
  for (const [path, bytes] of all) {
    const key = `runs/llama/e000001/aaaaaaaaaaaa/${path}`;
    stored.set(path, await storeBytes(store, { key, bytes, pieceBytes: PIECE_BYTES }));
  }
  manifest = manifestWith((path) => path !== "broken.safetensors");
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-tensors-"));
  target = join(folder, "out", "some");
});
afterEach(async () => {
  await store.disarm();
  await rm(folder, { recursive: true, force: true });
});
afterAll(() => store.close());

const filesWith = (isThere: (path: string) => boolean) =>
  [...stored].flatMap(([path, { bytes, pieces }]) =>
    isThere(path) ? [{ path, sizeBytes: bytes.length, mtimeMs: STAGED_DATE_MS, sha256: null, extents: pieces }] : [],
  );

function manifestWith(isThere: (path: string) => boolean): Manifest {
  const files = filesWith(isThere);
  return manifestSchema.parse({
    ...STAGED_HEAD,
    format: "tidemark.checkpoint",
    run: "llama",
    step: 500,
    writerEpoch: 1,
    node: { id: "node-id-1", name: "gpu-1" },
    sizeBytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    files,
  });
}

function jobOf(
  tensors: string[],
  change: Partial<RestoreJob> & { given?: unknown; files?: string[] } = {},
): RestoreJob {
  const { given = manifest, files, ...rest } = change;
  const job = restoreJobOf(manifest, { folder, target, given });
  const only = files === undefined ? {} : { files: files.map((path) => filePath.parse(path)) };
  return { ...job, command: { ...job.command, tensors, ...only }, ...rest };
}

const below = async (path: string) => (await readdir(path, { recursive: true })).toSorted();
const landed = async (path: string) => sumPlainly(await readFile(join(target, path)));
const original = (at: 0 | 1, names: readonly string[]) =>
  sumPlainly(shards[at] ?? Buffer.alloc(0)).tensors.filter(({ name }) => names.includes(name));
const asked = async () => new Map((await store.count("GetObject")).map(({ key, requests }) => [key, requests]));

test("a shard is cut to the chosen tensors, the other is not touched, and the index names only what is there", async () => {
  const before = await asked();
  const counters = await restore(store.engine(), jobOf(["model.embed_tokens.*", "model.layers.2."]));
  expect(await below(target)).toEqual([SHARDS[0], INDEX].toSorted());
  const names = ["model.embed_tokens.weight", "model.layers.2.w"];
  const file = await landed(SHARDS[0]);
  expect(file.tensors).toEqual(original(0, names));
  expect(file.metadata).toEqual({ format: "pt" });
  expect(file.dataAt % 8).toBe(0);
  expect((await stat(join(target, SHARDS[0]))).mtimeMs).toBe(STAGED_DATE_MS);
  expect(JSON.parse(await readFile(join(target, INDEX), "utf8"))).toEqual({
    metadata: { total_size: MIB / 2 + MIB / 4 },
    weight_map: Object.fromEntries(names.map((name) => [name, SHARDS[0]])),
  });
  const after = await asked();
  const requested = (path: string) => {
    const key = stored.get(path)?.key ?? "";
    return (after.get(key) ?? 0) - (before.get(key) ?? 0);
  };
  expect(requested(SHARDS[0])).toBeGreaterThan(0);
  expect(requested(SHARDS[1])).toBe(0);
  // Whole pieces that hold one of them or the header: of six, those of layers 0, 1 and 3 alone are not among them.
  expect(counters.bytesTotal).toBeLessThan((shards[0]?.length ?? 0) - PIECE_BYTES / 2);
  expect(counters).toMatchObject({
    filesTotal: 2,
    filesDone: 2,
    sentBytes: counters.bytesTotal,
    bytesSure: counters.bytesTotal,
  });
  expect(await readdir(join(folder, "out"))).toEqual(["some"]);
  expect(await readdir(join(folder, "journals"))).toEqual([]);
});

test("stopped in the middle nothing has the final name, and the next try fetches only what is missing", async () => {
  const stop = new AbortController();
  await store.arm({ op: "GetObject", attempt: 6, action: { kind: "stall", side: "response", afterBytes: 1_000 } });
  const stopped = restore(store.engine({ connections: 1 }), {
    ...jobOf(["model.*"], { signal: stop.signal, files: [SHARDS[0]] }),
    onStart: stopOnceSure(stop, 2 * PIECE_BYTES),
  });
  await expect(stopped).rejects.toMatchObject({ code: "CANCELLED" });
  await expect(stat(target)).rejects.toMatchObject({ code: "ENOENT" });
  await store.disarm();
  const counters = await restore(store.engine(), jobOf(["model.*"], { files: [SHARDS[0]] }));
  expect(counters.sentBytes).toBeLessThanOrEqual(counters.bytesTotal - 2 * PIECE_BYTES);
  expect((await landed(SHARDS[0])).tensors).toEqual(sumPlainly(shards[0] ?? Buffer.alloc(0)).tensors);
});

test("a file that was finished before a kill is not fetched again, unless it is not what it was", async () => {
  const kill = async () => {
    throw new Fault("WRITE_FAILED");
  };
  const killed = () => restore(store.engine(), jobOf(["model.layers.1.w", "model.layers.5.w"], { beforePlaced: kill }));
  await expect(killed()).rejects.toMatchObject({ code: "WRITE_FAILED" });
  const sent: number[] = [];
  const again = (change: Partial<RestoreJob>) =>
    restore(store.engine(), jobOf(["model.layers.1.w", "model.layers.5.w"], change)).then((counters) => {
      sent.push(counters.sentBytes);
    });
  const [staging = ""] = (await readdir(join(folder, "out"))).filter((name) => name.includes(".restoring-"));
  const place = join(folder, "out", staging, SHARDS[0]);
  const bytes = await readFile(place);
  bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1;
  await writeFile(place, bytes);
  await again({});
  const index = stored.get(INDEX)?.bytes.length ?? 0;
  expect(sent[0]).toBeGreaterThan(index);
  expect(sent[0]).toBeLessThan(index + 4 * PIECE_BYTES);
  expect((await landed(SHARDS[0])).tensors).toEqual(original(0, ["model.layers.1.w"]));
  expect((await landed(SHARDS[1])).tensors).toEqual(original(1, ["model.layers.5.w"]));
});

test("bytes that are not what was committed are damage of their file, and nothing takes the final name", async () => {
  for (const at of [0, 1]) {
    const wrong = structuredClone(manifest);
    const extent = wrong.files.find(({ path }) => path === SHARDS[0])?.extents[at];
    if (extent !== undefined) extent.crc32 = "00000000";
    const found: DamageReport[] = [];
    const job = jobOf(["model.embed_tokens.*"], { given: wrong, onDamage: (report) => found.push(report) });
    await expect(restore(store.engine(), job)).rejects.toMatchObject({ code: "CHECKSUM_MISMATCH" });
    expect(found).toMatchObject([{ ranges: [{ path: SHARDS[0] }], more: 0 }]);
    await clearRestore(job);
    expect(await readdir(join(folder, "out"))).toEqual([]);
  }
});

test("an index that is not what was committed is damage too", async () => {
  const wrong = structuredClone(manifest);
  const extent = wrong.files.find(({ path }) => path === INDEX)?.extents[0];
  if (extent !== undefined) extent.crc32 = "00000000";
  const found: DamageReport[] = [];
  const job = jobOf(["model.embed_tokens.*"], { given: wrong, onDamage: (report) => found.push(report) });
  await expect(restore(store.engine(), job)).rejects.toMatchObject({ code: "CHECKSUM_MISMATCH" });
  expect(found).toMatchObject([{ ranges: [{ path: INDEX }], more: 0 }]);
});

test("a header that came wrong once is looked at again, and one that is wrong is said to be", async () => {
  const key = stored.get(SHARDS[0])?.key ?? "";
  const flip = { kind: "flip", side: "response", offset: 30 };
  await store.arm({ op: "GetObject", keyPattern: key, times: 1, action: flip });
  const found: DamageReport[] = [];
  await restore(store.engine(), jobOf(["lm_head.weight", "model.layers.0.w"], { onDamage: (one) => found.push(one) }));
  expect(found).toEqual([]);
  expect((await landed(SHARDS[0])).tensors).toEqual(original(0, ["model.layers.0.w"]));
  await rm(target, { recursive: true });
  const broken = manifestWith(() => true);
  const job = jobOf(["model.embed_tokens.*"], { given: broken });
  await expect(restore(store.engine(), job)).rejects.toMatchObject({
    code: "MALFORMED",
    context: { subject: "broken.safetensors" },
  });
});

test("of adopted files, whose checksums nobody knows yet, only what is wanted is fetched", async () => {
  const files = filesWith((path) => path === SHARDS[0]).map((file) => ({
    ...file,
    extents: file.extents.map((piece) => ({ ...piece, crc32: null })),
  }));
  const given = adoptedManifest.parse({
    ...STAGED_HEAD,
    format: "tidemark.adopted",
    run: "llama",
    step: 500,
    writerEpoch: 0,
    node: null,
    sizeBytes: shards[0]?.length,
    origin: { place: "x/", kind: "folder", verdict: "unknown", reason: "", adoptedAt: 1 },
    files,
  });
  const job = jobOf(["model.layers.3.w"], { given });
  const counters = await restore(store.engine(), job);
  expect(counters.sentBytes).toBeLessThan(MIB / 4 + 64 * 1024);
  expect((await landed(SHARDS[0])).tensors).toEqual(original(0, ["model.layers.3.w"]));
});

test("small files in a pack are cut as others are, beside an index that lies there compressed", async () => {
  const small = makeSafetensors([tensor("a.w", 100), tensor("b.w", 50), tensor("a.b", 10)]);
  const map = Object.fromEntries(["a.w", "b.w", "a.b"].map((name) => [name, "small.safetensors"]));
  const index = Buffer.from(JSON.stringify({ weight_map: map, note: "the same again ".repeat(50) }));
  const frame = zstdCompressSync(index);
  const junk = Buffer.alloc(333, 7);
  const key = "runs/llama/e000001/aaaaaaaaaaaa/_tidemark.packs/00001.pack";
  const { pieces } = await storeBytes(store, { key, bytes: Buffer.concat([junk, small, frame]), pieceBytes: MIB });
  const lying = (bytes: Buffer, offset: number) => ({
    ...pieces[0],
    offset,
    length: bytes.length,
    crc32: crc32Hex(bytes),
  });
  const about = { mtimeMs: STAGED_DATE_MS, sha256: null };
  const files = [
    { ...about, path: "small.safetensors", sizeBytes: small.length, extents: [lying(small, junk.length)] },
    {
      ...about,
      path: "small.safetensors.index.json",
      sizeBytes: index.length,
      extents: [
        {
          ...lying(index, junk.length + small.length),
          stored: { length: frame.length, crc32: crc32Hex(frame) },
        },
      ],
    },
  ];
  const sizeBytes = small.length + index.length;
  const given = manifestSchema.parse({ ...manifest, transform: { kind: "zstd" }, files, sizeBytes });
  const counters = await restore(store.engine(), jobOf(["a."], { given }));
  expect(counters.sentBytes).toBe(small.length + frame.length);
  const names = ["a.w", "a.b"];
  expect((await landed("small.safetensors")).tensors).toEqual(
    sumPlainly(small).tensors.filter(({ name }) => names.includes(name)),
  );
  expect(JSON.parse(await readFile(join(target, "small.safetensors.index.json"), "utf8"))).toMatchObject({
    metadata: { total_size: 440 },
    weight_map: { "a.w": "small.safetensors", "a.b": "small.safetensors" },
  });
});

test("what fits nothing, what is no safetensors file and what would replace others is refused before anything is written", async () => {
  const refused = (job: RestoreJob) => expect(restore(store.engine(), job)).rejects;
  await refused(jobOf(["model.embed_tokens.*", "model.norm.*"])).toMatchObject({
    code: "NOT_FOUND",
    context: { subject: "model.norm.*", detail: expect.stringContaining("no tensor fits it; there are model.") },
  });
  await refused(jobOf(["*"], { files: ["optimizer.pt"] })).toMatchObject({
    code: "BAD_INPUT",
    context: { subject: "optimizer.pt", detail: expect.stringContaining("is a PyTorch file") },
  });
  const sealed = { ...manifest, transform: { kind: "none" } };
  await refused(
    jobOf(["*"], {
      given: {
        ...sealed,
        files: sealed.files.filter(({ path }) => path === INDEX),
        sizeBytes: stored.get(INDEX)?.bytes.length,
      },
    }),
  ).toMatchObject({
    code: "BAD_INPUT",
    context: { detail: expect.stringContaining("none of its files is a safetensors file") },
  });
  await refused(
    jobOf(["model.layers.5.w"], { given: manifestWith((path) => path === INDEX || path === SHARDS[0]) }),
  ).toMatchObject({
    code: "NOT_FOUND",
    context: { subject: SHARDS[1] },
  });
  expect(await readdir(join(folder, "out")).catch(() => [])).toEqual([]);
  await mkdir(target, { recursive: true });
  await writeFile(join(target, "old.txt"), "old");
  await refused(jobOf(["lm_head.weight"])).toMatchObject({ code: "TARGET_EXISTS" });
  expect(await below(target)).toEqual(["old.txt"]);
});

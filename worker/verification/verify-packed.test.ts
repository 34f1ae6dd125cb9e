import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { adoptedManifest, withSums } from "#protocol/checkpoint/adopted.ts";
import { manifest as manifestSchema, type Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { readPut } from "#storage/s3/answers.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { callStore } from "../transfer/engine.ts";
import { openTrialStore, type TrialStore } from "../testing/trial-store.ts";
import { STAGED_HEAD, manifestOf, storeFile } from "../testing/stage-stored.ts";
import { verify, type VerifyJob } from "./verify.ts";

let store: TrialStore;
let journals: string;
beforeAll(async () => {
  store = await openTrialStore();
});
beforeEach(async () => {
  journals = await mkdtemp(join(tmpdir(), "tidemark-verify-"));
});
afterEach(async () => {
  await store.disarm();
  await rm(journals, { recursive: true, force: true });
});
afterAll(() => store.close());

const jobOf = (manifest: VerifyJob["manifest"], change: Partial<VerifyJob> = {}): VerifyJob => ({
  manifest,
  transferId: "transfer-id-1",
  journals,
  signal: new AbortController().signal,
  onStart: () => undefined,
  turn: async () => undefined,
  rest: async () => undefined,
  ...change,
});
const readsOf = async (key: string) =>
  (await store.count("GetObject")).filter((one) => one.key === key).reduce((sum, { requests }) => sum + requests, 0);
const empty = manifestOf({ key: "", bytes: Buffer.alloc(0), pieces: [] });
let packs = 0;
const nextKey = (): string =>
  `runs/llama/e000001/aaaaaaaaaaaa/_tidemark.packs/${String(++packs).padStart(5, "0")}.pack`;

/** A checkpoint of `count` files, one behind another in one object. */
async function packed(count: number, fileBytes: number): Promise<{ key: string; manifest: Manifest }> {
  const key = nextKey();
  const stored = await storeFile(store, { key, sizeBytes: count * fileBytes, pieceBytes: fileBytes });
  const files = stored.pieces.map((piece, index) => {
    const path = `shards/${index % 97}/${index}.bin`;
    return { path, sizeBytes: fileBytes, mtimeMs: 1, sha256: null, extents: [piece] };
  });
  return { key, manifest: manifestSchema.parse({ ...empty, sizeBytes: count * fileBytes, files }) };
}
const damage = (manifest: Manifest, index: number): Manifest => {
  const wrong = structuredClone(manifest);
  const extent = wrong.files[index]?.extents[0];
  if (extent?.stored !== undefined) extent.stored.crc32 = "00000000";
  else if (extent !== undefined) extent.crc32 = "00000000";
  return wrong;
};

test("fifty thousand small files in a pack are read back with one request for each stretch of it", async () => {
  const { key, manifest } = await packed(50_000, 100);
  let turns = 0;
  const turn = async () => void turns++;
  const { counters, damage: found } = await verify(store.engine(), jobOf(manifest, { turn }));
  expect(found).toBeNull();
  expect(counters).toMatchObject({
    filesDone: 50_000,
    bytesSure: 5_000_000,
    bytesDone: 5_000_000,
    sentBytes: 5_000_000,
  });
  expect(await readsOf(key)).toBe(3);
  expect(turns).toBe(3);
});

test("of a stretch that holds a damaged file only that file is named, after it was read three times", async () => {
  const { key, manifest } = await packed(1_000, 200);
  const { counters, damage: found } = await verify(store.engine(), jobOf(damage(manifest, 500)));
  expect(found).toEqual({
    ranges: [
      { path: "shards/15/500.bin", from: 0, to: 199, fault: expect.objectContaining({ code: "CHECKSUM_MISMATCH" }) },
    ],
    more: 0,
  });
  expect(await readsOf(key)).toBe(3);
  expect(counters).toMatchObject({ filesDone: 1_000, bytesSure: 200_000, bytesDone: 200_000, retries: 2 });
});

test("bytes that changed on their way are fetched again and are no damage", async () => {
  const { key, manifest } = await packed(1_000, 200);
  await store.arm({ op: "GetObject", times: 1, action: { kind: "flip", side: "response", offset: 50_000 } });
  const { counters, damage: found } = await verify(store.engine(), jobOf(manifest));
  expect(found).toBeNull();
  expect(counters).toMatchObject({ retries: 1, bytesSure: 200_000 });
  expect(await readsOf(key)).toBe(2);
});

test("stopped between two stretches, the first is not read again", async () => {
  const { manifest } = await packed(30_000, 100);
  const stop = new AbortController();
  const rest = async () => {
    stop.abort();
    throw new Fault("CANCELLED");
  };
  const stopped = verify(store.engine(), jobOf(manifest, { rest, signal: stop.signal }));
  await expect(stopped).rejects.toMatchObject({ code: "CANCELLED" });
  const { counters, damage: found } = await verify(store.engine(), jobOf(manifest));
  expect(found).toBeNull();
  expect(counters).toMatchObject({ bytesSure: 3_000_000, filesDone: 30_000 });
  expect(counters.sentBytes).toBeLessThanOrEqual(2_097_152);
});

test("a pack that is gone is damage of all its files", async () => {
  const { manifest } = await packed(40, 1_000);
  for (const { extents } of manifest.files) for (const extent of extents) extent.key += ".gone";
  const { damage: found } = await verify(store.engine(), jobOf(manifest));
  expect(found?.ranges[0]).toMatchObject({ path: "shards/0/0.bin", from: 0, to: 999, fault: { code: "NO_SUCH_KEY" } });
  expect(found).toMatchObject({ more: 24 });
});

test("files that are compressed in a pack are compared as they lie there, and told in their own bytes", async () => {
  const key = nextKey();
  const contents = Array.from({ length: 200 }, (_, index) => Buffer.from(`{"n": ${index}}\n`.repeat(500 + index)));
  const frames = contents.map((bytes) => zstdCompressSync(bytes));
  const pack = Buffer.concat(frames);
  const operation = { op: "put", key, sizeBytes: pack.length, crc32: crc32Hex(pack), nonce: "n" } as const;
  const { signal } = new AbortController();
  const { etag } = await callStore(store.engine(), { operation, signal, body: pack }, readPut);
  let offset = 0;
  const files = contents.map((bytes, index) => {
    const frame = frames[index] ?? Buffer.alloc(0);
    const stored = { length: frame.length, crc32: crc32Hex(frame) };
    const extent = { key, offset, length: bytes.length, crc32: crc32Hex(bytes), etag, stored };
    offset += frame.length;
    return { path: `${index}.json`, sizeBytes: bytes.length, mtimeMs: 1, sha256: null, extents: [extent] };
  });
  const sizeBytes = contents.reduce((sum, { length }) => sum + length, 0);
  const manifest = manifestSchema.parse({ ...empty, sizeBytes, transform: { kind: "zstd" }, files });
  const { counters, damage: none } = await verify(store.engine(), jobOf(manifest));
  expect(none).toBeNull();
  expect(counters).toMatchObject({
    filesDone: 200,
    bytesSure: sizeBytes,
    bytesDone: sizeBytes,
    sentBytes: pack.length,
  });
  expect(await readsOf(key)).toBe(1);
  const { damage: found } = await verify(store.engine(), jobOf(damage(manifest, 7)));
  expect(found?.ranges).toMatchObject([{ path: "7.json", from: 0, to: (contents[7]?.length ?? 0) - 1 }]);
});

test("a frame that lies by itself is held to its sum", async () => {
  const key = nextKey();
  const { bytes, pieces } = await storeFile(store, { key, sizeBytes: 1_000, pieceBytes: 1_000 });
  const stored = { length: 1_000, crc32: crc32Hex(bytes) };
  const extents = pieces.map((piece) => ({ ...piece, length: 5_000, crc32: "0000000a", stored }));
  const files = [{ path: "a.json", sizeBytes: 5_000, mtimeMs: 1, sha256: null, extents }];
  const manifest = manifestSchema.parse({ ...empty, sizeBytes: 5_000, transform: { kind: "zstd" }, files });
  expect((await verify(store.engine(), jobOf(manifest))).damage).toBeNull();
  const { damage: found } = await verify(store.engine(), jobOf(damage(manifest, 0)));
  expect(found?.ranges).toMatchObject([{ path: "a.json", from: 0, to: 4_999, fault: { code: "CHECKSUM_MISMATCH" } }]);
});

test("what another tool wrote is summed as it is read, and held to its sums after that", async () => {
  const stored = await storeFile(store, {
    key: "experiments/checkpoint-5/model.bin",
    sizeBytes: 300_000,
    pieceBytes: 100_000,
  });
  const manifest = adoptedManifest.parse({
    ...STAGED_HEAD,
    format: "tidemark.adopted",
    run: "experiments",
    step: 5,
    writerEpoch: 0,
    node: null,
    sizeBytes: 300_000,
    origin: { place: "experiments/checkpoint-5/", kind: "folder", verdict: "unknown", reason: "", adoptedAt: 1 },
    files: [
      {
        path: "model.bin",
        sizeBytes: 300_000,
        mtimeMs: 1,
        sha256: null,
        extents: stored.pieces.map((piece) => ({ ...piece, crc32: null })),
      },
    ],
  });
  const sums = stored.pieces.map(({ crc32 }) => crc32);
  const first = await verify(store.engine(), jobOf(manifest));
  expect(first).toMatchObject({ damage: null, sums: [sums] });
  expect((await verify(store.engine(), jobOf(withSums(manifest, [sums])))).damage).toBeNull();
  const later = await verify(store.engine(), jobOf(withSums(manifest, [[sums[0] ?? "", "00000000", sums[2] ?? ""]])));
  expect(later.damage?.ranges).toMatchObject([{ path: "model.bin", from: 100_000, to: 199_999 }]);
});

import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { readPut } from "#storage/s3/answers.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { callStore } from "../transfer/engine.ts";
import type { Piece } from "../transfer/download/piece.ts";
import { openTrialStore, type TrialStore } from "../testing/trial-store.ts";
import { fetchSmall } from "./fetch-small.ts";

const content = randomBytes(70_001);
const key = "small.bin";
const { signal } = new AbortController();
let store: TrialStore;
let piece: Piece;

beforeAll(async () => {
  store = await openTrialStore();
  const operation = { op: "put", key, sizeBytes: content.length, crc32: crc32Hex(content), nonce: "n" } as const;
  const { etag } = await callStore(store.engine(), { operation, signal, body: content }, readPut);
  piece = { key, objectOffset: 0, fileOffset: 0, length: content.length, crc32: null, etag };
});
afterEach(() => store.disarm());
afterAll(() => store.close());

test("one of the last that does not arrive is asked for a second time, and its bytes count once", async () => {
  const engine = store.engine();
  const fetched = async () => {
    let movedBytes = 0;
    const result = await fetchSmall(engine, piece, { signal, onMoved: (bytes) => void (movedBytes += bytes) });
    return { movedBytes, isRight: result?.bytes.equals(content) === true };
  };
  for (let before = 0; before < 3; before++) await fetched();
  await store.arm({ op: "GetObject", times: 1, action: { kind: "stall", side: "response", afterBytes: 20_000 } });
  // Without a second try it would fail when the store has been silent for too long.
  expect(await fetched()).toEqual({ movedBytes: content.length, isRight: true });
  expect(engine.semaphore.held).toBe(0);
});

test("it comes with the sum that the store keeps of it", async () => {
  const fetched = await fetchSmall(store.engine(), piece, { signal, onMoved: () => undefined });
  expect(fetched).toMatchObject({ crc32: crc32Hex(content), kept: { crc32: crc32Hex(content), partCount: null } });
});

test.each(["reject-checksums", "reject-checksums=not-implemented", "reject-checksums=signature"])(
  "a store that refuses to be asked for sums gives the bytes all the same, and is asked no more: %s",
  async (quirk) => {
    const other = await openTrialStore([quirk]);
    try {
      const engine = other.engine();
      const put = { op: "put", key, sizeBytes: content.length, crc32: crc32Hex(content), nonce: "n" } as const;
      const operation = { ...put, checksum: "none" } as const;
      const { etag } = await callStore(engine, { operation, signal, body: content }, readPut);
      const counted = async () => (await other.count("GetObject"))[0] ?? { requests: 0, succeeded: 0 };
      for (const requests of [2, 3]) {
        const fetched = await fetchSmall(engine, { ...piece, etag }, { signal, onMoved: () => undefined });
        expect([fetched?.bytes.equals(content), fetched?.kept]).toEqual([true, null]);
        // A store counts what it gave once it has, which may be a moment after it came here.
        await expect.poll(async () => (await counted()).succeeded).toBe(requests - 1);
        expect((await counted()).requests).toBe(requests);
      }
    } finally {
      await other.close();
    }
  },
);

test("a fault of the only try is told", async () => {
  await store.arm({ op: "GetObject", times: 1, action: { kind: "error", status: 503, code: "SlowDown" } });
  await expect(fetchSmall(store.engine(), piece, { signal, onMoved: () => undefined })).rejects.toMatchObject({
    code: "THROTTLED",
  });
});

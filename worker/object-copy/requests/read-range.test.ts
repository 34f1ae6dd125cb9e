import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { readHead } from "#storage/s3/answers.ts";
import { callStore, type Engine } from "#worker/transfer/engine.ts";
import { sendStream } from "#worker/transfer/upload/send-stream.ts";
import { openTrialStore, TROUBLES_OF_ANSWERS, type TrialStore } from "#worker/testing/trial-store.ts";
import { piecesWithin, readPieces } from "./read-range.ts";

const MIB = 1024 * 1024;
const KEY = "runs/test/object.bin";
const content = randomBytes(14 * MIB + 321);
const { signal } = new AbortController();
let store: TrialStore;

async function put(engine: Engine, bytes: Buffer): Promise<void> {
  await sendStream(engine, {
    subject: "the test",
    key: KEY,
    input: Object.assign(piecesOf(bytes), { destroy: () => undefined }),
    partBytes: 5 * MIB,
    partsAtATime: 3,
    onRead: () => undefined,
    onMoved: () => undefined,
    sweep: async () => undefined,
    signal,
  });
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += MIB) yield bytes.subarray(at, at + MIB);
}

const etagOf = async (engine: Engine) =>
  (await callStore(engine, { operation: { op: "head", key: KEY }, signal }, readHead)).etag;

/** Copies, because the memory of a piece is used again. */
async function readAll(engine: Engine, range: { etag: string | null; offset?: number; length?: number }) {
  const { etag, offset = 0, length = content.length } = range;
  const pieces: Buffer[] = [];
  for await (const piece of readPieces({ engine }, { key: KEY, etag, offset, length, ahead: 3, signal })) {
    pieces.push(Buffer.from(piece));
  }
  return Buffer.concat(pieces);
}

beforeAll(async () => {
  store = await openTrialStore();
  await put(store.engine(), content);
});
afterEach(() => store.disarm());
afterAll(() => store.close());

test.each([
  [0, content.length],
  [0, 0],
  [1, 1],
  [4 * MIB - 1, 4 * MIB + 2],
  [content.length - 5, 5],
])("from %i on %i bytes come as they are", async (offset, length) => {
  const engine = store.engine();
  const read = await readAll(engine, { etag: await etagOf(engine), offset, length });
  expect(read.equals(content.subarray(offset, offset + length))).toBe(true);
});

test("the memory of a piece is used again, so that of a long object no more is taken than of a short one", async () => {
  const engine = store.engine();
  const seen = new Set<ArrayBufferLike>();
  const range = { key: KEY, etag: null, offset: 0, length: content.length, ahead: 2, signal };
  for await (const piece of readPieces({ engine }, range)) seen.add(piece.buffer);
  expect(seen.size).toBe(2);
});

describe("one trouble each, and the bytes are still right", () => {
  // Flipped bytes are found by the sum of all of them, which is not this one's business.
  test.each(TROUBLES_OF_ANSWERS.filter(([, { kind }]) => kind !== "flip"))("%s", async (_, action) => {
    const engine = store.engine({ idleMs: 1_000 });
    const etag = await etagOf(engine);
    await store.arm({ op: "GetObject", times: 2, action });
    expect((await readAll(engine, { etag })).equals(content)).toBe(true);
  });
});

test("what came before a connection broke is not fetched again", async () => {
  const engine = store.engine();
  const etag = await etagOf(engine);
  await store.arm({ op: "GetObject", times: 1, action: { kind: "reset", at: "response", afterBytes: 3_000_000 } });
  await readAll(engine, { etag, length: 4 * MIB });
  expect(engine.meter.totalBytes).toBe(4 * MIB);
});

test("another version than the one that is meant is not read", async () => {
  await expect(readAll(store.engine(), { etag: '"another"' })).rejects.toMatchObject({ code: "OBJECT_CHANGED" });
});

test("as many pieces as memory and connections allow, and one at least", () => {
  expect(piecesWithin(128 * MIB, 10)).toBe(10);
  expect(piecesWithin(128 * MIB, 48)).toBe(25);
  expect(piecesWithin(16 * MIB, 10)).toBe(3);
  expect(piecesWithin(MIB, 10)).toBe(1);
});

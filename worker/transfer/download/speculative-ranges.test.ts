import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { readPut } from "#storage/s3/answers.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { systemClock } from "#worker/base/clock.ts";
import { createEarlyRanges, type EarlyRanges } from "./speculative-ranges.ts";
import { callStore, type Engine } from "../engine.ts";
import { openReceiveJournal, receiveFile } from "./receive-file.ts";
import type { Piece } from "./piece.ts";
import { createPatience } from "../store-session/retry.ts";
import { openTrialStore, TROUBLES_OF_ANSWERS, type Trouble, type TrialStore } from "#worker/testing/trial-store.ts";

const MIB = 1024 * 1024;
const { signal } = new AbortController();
let store: TrialStore;
let serial = 0;

beforeAll(async () => {
  store = await openTrialStore();
});
afterEach(() => store.disarm());
afterAll(() => store.close());

async function put(key: string, bytes: Buffer): Promise<string> {
  const operation = { op: "put", key, sizeBytes: bytes.length, crc32: crc32Hex(bytes), nonce: "n" } as const;
  return (await callStore(store.engine(), { operation, signal, body: bytes }, readPut)).etag;
}

const cut = (content: Buffer, about: { key: string; etag: string; pieceBytes: number }): Piece[] =>
  Array.from({ length: Math.ceil(content.length / about.pieceBytes) }, (_, index) => {
    const { key, etag, pieceBytes } = about;
    const bytes = content.subarray(index * pieceBytes, (index + 1) * pieceBytes);
    const offset = index * pieceBytes;
    return { key, objectOffset: offset, fileOffset: offset, length: bytes.length, crc32: crc32Hex(bytes), etag };
  });

async function fetchTo(
  engine: Engine,
  job: { pieces: Piece[]; early: EarlyRanges },
): Promise<{ content: Buffer; retries: string[]; movedBytes: number }> {
  const path = join(store.folder, `file-${++serial}.bin`);
  const memory = await openReceiveJournal(join(store.folder, `j${serial}.jsonl`));
  const retries: string[] = [];
  let movedBytes = 0;
  const sizeBytes = job.pieces.reduce((sum, { length }) => sum + length, 0);
  try {
    await receiveFile(
      engine,
      { path, sizeBytes, pieces: job.pieces },
      {
        memory,
        watch: {
          signal,
          patience: createPatience(systemClock),
          early: job.early,
          onMoved: (bytes) => void (movedBytes += bytes),
          onPiece: () => undefined,
          onRetry: ({ code }) => void retries.push(code),
        },
      },
    );
  } finally {
    await memory.close();
  }
  return { content: await readFile(path), retries, movedBytes };
}

/** As a stranger: nothing is known of the object but its name. */
async function openObject(content: Buffer, connections = 6, idleMs = 1_000) {
  const key = `object-${++serial}.bin`;
  const etag = await put(key, content);
  const engine = store.engine({ connections, idleMs });
  const early = createEarlyRanges(engine, { key, signal });
  const gets = async () => (await store.count("GetObject")).filter((target) => target.key === key);
  return { key, etag, engine, early, gets };
}

const sumOf = (targets: readonly { requests: number }[]): number =>
  targets.reduce((sum, { requests }) => sum + requests, 0);

test("what was asked for early is asked for once, and fills the file whatever its pieces are", async () => {
  const content = randomBytes(3 * MIB + 5);
  // One at a time, or an idle one would be given a share of what is on its way.
  const { key, etag, engine, early, gets } = await openObject(content, 1);
  early.begin(1);
  const fetched = await fetchTo(engine, { pieces: cut(content, { key, etag, pieceBytes: 1_200_000 }), early });
  expect(fetched.content.equals(content)).toBe(true);
  expect(fetched).toMatchObject({ retries: [], movedBytes: content.length });
  expect(sumOf(await gets())).toBe(1);
  expect(engine.semaphore.held).toBe(0);
});

test("ranges behind the end of the object harm nothing", async () => {
  const content = randomBytes(5 * MIB);
  const { key, etag, engine, early } = await openObject(content);
  early.begin(5);
  const fetched = await fetchTo(engine, { pieces: cut(content, { key, etag, pieceBytes: 2 * MIB }), early });
  expect(fetched.content.equals(content)).toBe(true);
  expect(fetched).toMatchObject({ retries: [], movedBytes: content.length });
});

test("what lies behind the early ranges is fetched as ever", async () => {
  const content = randomBytes(13 * MIB);
  const { key, etag, engine, early } = await openObject(content, 2);
  early.begin(2);
  const fetched = await fetchTo(engine, { pieces: cut(content, { key, etag, pieceBytes: 5 * MIB }), early });
  expect(fetched.content.equals(content)).toBe(true);
  expect(fetched).toMatchObject({ retries: [], movedBytes: content.length });
});

test("an object that was written again after they were asked for is not mixed with what it was", async () => {
  // So little that the first one is sent before anybody takes it.
  const [before, content] = [randomBytes(60_000), randomBytes(60_000)];
  const { key, engine, early, gets } = await openObject(before);
  early.begin(3);
  while (sumOf(await gets()) < 3) await systemClock.sleep(5);
  await callStore(store.engine(), { operation: { op: "delete", key }, signal }, () => undefined);
  const etag = await put(key, content);
  // Without sums of its own only the version tells.
  const pieces = cut(content, { key, etag, pieceBytes: 60_000 }).map((piece) => ({ ...piece, crc32: null }));
  const fetched = await fetchTo(engine, { pieces, early });
  expect(fetched.content.equals(content)).toBe(true);
});

describe("one trouble each, and the file is still right", () => {
  const troubles: Trouble[] = [
    ...TROUBLES_OF_ANSWERS,
    ["the whole object in place of a range", { kind: "ignore-range" }],
    ["no word of the version", { kind: "no-etag" }],
  ];
  test.each(troubles)("%s", async (_, action) => {
    const content = randomBytes(9 * MIB);
    const { key, etag, engine, early } = await openObject(content);
    await store.arm({ op: "GetObject", times: 2, action });
    early.begin(3);
    const fetched = await fetchTo(engine, { pieces: cut(content, { key, etag, pieceBytes: 3 * MIB }), early });
    expect(fetched.content.equals(content)).toBe(true);
    expect(fetched.movedBytes).toBe(content.length);
    expect(engine.semaphore.held).toBe(0);
  });
});

test("what nobody takes ends, and holds no connection", async () => {
  const { engine, early } = await openObject(randomBytes(9 * MIB));
  early.begin(3);
  while (engine.httpClient.open < 3) await systemClock.sleep(5);
  expect(engine.semaphore.held).toBe(3);
  early.drop();
  while (engine.semaphore.held > 0) await systemClock.sleep(5);
  early.begin(3);
  expect(engine.semaphore.held).toBe(0);
});

test("what nobody has taken yet makes room for what comes first when a store wants fewer at a time", async () => {
  const content = randomBytes(30 * MIB);
  const { key, engine, early } = await openObject(content, 6);
  early.begin(6);
  while (engine.httpClient.open < 6) await systemClock.sleep(5);
  // As after a refusal: fewer connections than are held.
  engine.httpClient.setConnections(3);
  engine.semaphore.setWidth(2);
  const operation = { op: "head", key } as const;
  expect(await callStore(engine, { operation, signal }, ({ status }) => status)).toBe(200);
  expect(early.take(key, () => undefined)).toEqual([]);
});

test("a download that fails does not wait for what was asked for early", async () => {
  const content = randomBytes(24 * MIB);
  const { key, etag, engine, early } = await openObject(content, 6, 600_000);
  // They would not end before the test does.
  await store.arm({ op: "GetObject", times: 5, action: { kind: "stall", side: "response", afterBytes: 100_000 } });
  early.begin(5);
  while (engine.httpClient.open < 5) await systemClock.sleep(5);
  await store.arm({ op: "GetObject", times: 50, action: { kind: "error", status: 403, code: "AccessDenied" } });
  const pieces = cut(content, { key, etag, pieceBytes: 3 * MIB });
  await expect(fetchTo(engine, { pieces, early })).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  expect(engine.semaphore.held).toBe(0);
});

import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { readPut } from "#storage/s3/answers.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { systemClock } from "#worker/base/clock.ts";
import { callStore } from "../engine.ts";
import { openReceiveJournal, receiveFile } from "./receive-file.ts";
import type { Piece } from "./piece.ts";
import { createPatience } from "../store-session/retry.ts";
import { openTrialStore, TROUBLES_OF_ANSWERS, type TrialStore } from "#worker/testing/trial-store.ts";

const MIB = 1024 * 1024;
const content = randomBytes(9 * MIB + 5);
const key = "runs/test/object.bin";
let store: TrialStore;
let pieces: Piece[];
let serial = 0;

async function put(bytes: Buffer): Promise<string> {
  const operation = { op: "put", key, sizeBytes: bytes.length, crc32: crc32Hex(bytes), nonce: "n" } as const;
  const signal = new AbortController().signal;
  return (await callStore(store.engine(), { operation, signal, body: bytes }, readPut)).etag;
}

beforeAll(async () => {
  store = await openTrialStore();
  const etag = await put(content);
  pieces = [0, 4 * MIB, 8 * MIB].map((offset) => {
    const bytes = content.subarray(offset, offset + 4 * MIB);
    return { key, objectOffset: offset, fileOffset: offset, length: bytes.length, crc32: crc32Hex(bytes), etag };
  });
});
afterEach(() => store.disarm());
afterAll(() => store.close());

async function fetchTo(path: string, options: { wanted?: Piece[]; journal?: string; retries?: string[] } = {}) {
  const memory = await openReceiveJournal(options.journal ?? join(store.folder, `r${++serial}.jsonl`));
  const fetched: Piece[] = [];
  try {
    await receiveFile(
      store.engine({ idleMs: 1_000 }),
      { path, sizeBytes: content.length, pieces: options.wanted ?? pieces },
      {
        memory,
        watch: {
          signal: new AbortController().signal,
          patience: createPatience(systemClock),
          onMoved: () => undefined,
          onPiece: (piece, state) => void (state === "done" && fetched.push(piece)),
          onRetry: ({ code }) => void options.retries?.push(code),
        },
      },
    );
  } finally {
    await memory.close();
  }
  return fetched;
}

describe("one trouble each, and the file is still right", () => {
  test.each(TROUBLES_OF_ANSWERS)("%s", async (_, action) => {
    await store.arm({ op: "GetObject", times: 2, action });
    const path = join(store.folder, `file-${++serial}.bin`);
    await fetchTo(path);
    expect((await readFile(path)).equals(content)).toBe(true);
  });
});

test("a store that ignores ranges is refused, not believed", async () => {
  await store.arm({ op: "GetObject", action: { kind: "ignore-range" } });
  await expect(fetchTo(join(store.folder, "ignored.bin"))).rejects.toMatchObject({ code: "RANGE_IGNORED" });
});

test("bytes that stay wrong fail the download after two repetitions", async () => {
  const wrong = pieces.map((piece, index) => (index === 1 ? { ...piece, crc32: "00000000" } : piece));
  const retries: string[] = [];
  const path = join(store.folder, "wrong.bin");
  await expect(fetchTo(path, { wanted: wrong, retries })).rejects.toMatchObject({ code: "CHECKSUM_MISMATCH" });
  expect(retries).toEqual(["CHECKSUM_MISMATCH", "CHECKSUM_MISMATCH"]);
});

test("an object that was replaced is noticed by its ETag", async () => {
  const other = pieces.map((piece) => ({ ...piece, etag: '"0123456789abcdef0123456789abcdef"' }));
  await expect(fetchTo(join(store.folder, "other.bin"), { wanted: other })).rejects.toMatchObject({
    code: "OBJECT_CHANGED",
  });
});

test("goes on with the pieces it has, and fetches again what the disk lost", async () => {
  const path = join(store.folder, "resumed.bin");
  const journal = join(store.folder, "resumed.jsonl");
  await fetchTo(path, { journal });
  const bytes = await readFile(path);
  bytes.fill(0, 4 * MIB, 4 * MIB + 100);
  await writeFile(path, bytes);
  const fetched = await fetchTo(path, { journal });
  expect(fetched.map(({ fileOffset }) => fileOffset)).toEqual([4 * MIB]);
  expect((await readFile(path)).equals(content)).toBe(true);
});

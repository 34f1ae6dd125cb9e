import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { readPut } from "#storage/s3/answers.ts";
import { compositeCrc32, crc32Hex } from "#storage/checksums/crc32.ts";
import { systemClock } from "../base/clock.ts";
import { callStore } from "../transfer/engine.ts";
import { openReceiveJournal } from "../transfer/download/receive-file.ts";
import type { Piece } from "../transfer/download/piece.ts";
import { createPatience } from "../transfer/store-session/retry.ts";
import { openTrialStore, type TrialStore } from "../testing/trial-store.ts";
import type { AskObject, Expected, PartSum } from "./facts.ts";
import { receiveVerified } from "./receive-verified.ts";

const MIB = 1024 * 1024;
const content = randomBytes(6 * MIB + 5);
const key = "plain.bin";
const lengths = [2 * MIB, 2 * MIB, 2 * MIB + 5];
const cut = (pieceLengths: readonly number[]): Buffer[] => {
  let at = 0;
  return pieceLengths.map((length) => content.subarray(at, (at += length)));
};
const sums: PartSum[] = cut(lengths).map((bytes) => ({ length: bytes.length, crc32: crc32Hex(bytes) }));
const composite: Expected = { kind: "parts", crc32: compositeCrc32(sums.map(({ crc32 }) => crc32)) };
const whole: Expected = { kind: "whole", crc32: crc32Hex(content) };
const md5: Expected = { kind: "md5", md5: createHash("md5").update(content).digest("hex") };

const md5OfParts = createHash("md5");
for (const bytes of cut(lengths)) md5OfParts.update(createHash("md5").update(bytes).digest());
const md5Parts: Expected = { kind: "md5-parts", md5: md5OfParts.digest("hex") };

let store: TrialStore;
let etag: string;
let serial = 0;

beforeAll(async () => {
  store = await openTrialStore();
  const operation = { op: "put", key, sizeBytes: content.length, crc32: crc32Hex(content), nonce: "n" } as const;
  const signal = new AbortController().signal;
  ({ etag } = await callStore(store.engine(), { operation, signal, body: content }, readPut));
});
afterEach(() => store.disarm());
afterAll(() => store.close());

async function fetched(about: { expected: Expected; ask?: Partial<AskObject>; pieces?: readonly number[] }) {
  const path = join(store.folder, `.got-${++serial}.part-00ff`);
  const memory = await openReceiveJournal(`${path}.jsonl`);
  let at = 0;
  const pieces = (about.pieces ?? lengths).map((length): Piece => {
    const piece = { key, objectOffset: at, fileOffset: at, length, crc32: null, etag };
    at += length;
    return piece;
  });
  const told: { moved: number; noMd5: number; retries: string[] } = { moved: 0, noMd5: 0, retries: [] };
  let wireBytes = 0;
  const head = { sizeBytes: content.length, etag, modifiedAtMs: null, sum: null, isOpaque: false };
  try {
    const verdict = await receiveVerified(store.engine({ connections: 1 }), {
      key,
      target: { path, sizeBytes: content.length, pieces },
      expected: about.expected,
      memory,
      watch: {
        signal: new AbortController().signal,
        patience: createPatience(systemClock),
        onMoved: (bytes) => {
          told.moved += bytes;
          wireBytes += Math.max(0, bytes);
        },
        onPiece: () => undefined,
        onRetry: ({ code }) => void told.retries.push(code),
      },
      ask: { head: async () => head, partBytes: async () => null, partSums: async () => null, ...about.ask },
      onNoMd5: () => void told.noMd5++,
    });
    expect((await readFile(path)).equals(content)).toBe(true);
    return { verdict, told, wireBytes, path };
  } finally {
    await memory.close();
  }
}
/** A byte of the first answer, wherever it begins. */
const flipOnce = () => store.arm({ op: "GetObject", times: 1, action: { kind: "flip", side: "response", offset: 77 } });

describe("a byte that came wrong is found", () => {
  test("and only its part comes again, where the store tells the sums of parts", async () => {
    await flipOnce();
    const { verdict, told, wireBytes } = await fetched({ expected: composite, ask: { partSums: async () => sums } });
    expect([verdict, told.retries, told.moved]).toEqual(["verified", ["CHECKSUM_MISMATCH"], content.length]);
    expect(wireBytes).toBe(content.length + 2 * MIB);
  });

  test("by the sums of parts, although the pieces were cut elsewhere", async () => {
    await flipOnce();
    const { verdict } = await fetched({
      expected: composite,
      pieces: [MIB, 5 * MIB + 5],
      ask: { partSums: async () => sums },
    });
    expect(verdict).toBe("verified");
  });

  test.each([
    ["the CRC32 over the parts", composite],
    ["the CRC32 of the object", whole],
    ["the MD5", md5],
    ["the MD5 over the parts", md5Parts],
  ])("by %s, by reading everything once more", async (_, expected) => {
    await flipOnce();
    const { verdict, wireBytes } = await fetched({ expected });
    expect([verdict, wireBytes]).toEqual(["verified", 2 * content.length]);
  });
});

describe("bytes that come the same twice", () => {
  test("but not as the store's CRC32 says are refused, and nothing is kept", async () => {
    const expected: Expected = { kind: "whole", crc32: "00000000" };
    await expect(fetched({ expected })).rejects.toMatchObject({ code: "CHECKSUM_MISMATCH" });
    expect(existsSync(join(store.folder, `.got-${serial}.part-00ff`))).toBe(false);
  });

  test("are taken unverified where the ETag is no MD5 after all, which is told", async () => {
    const { verdict, told } = await fetched({ expected: { kind: "md5", md5: "0".repeat(32) } });
    expect([verdict, told.noMd5]).toEqual(["unverified", 1]);
  });

  test("are taken at once when the object turns out to be encrypted, or to have a CRC32 that is right", async () => {
    const wrong: Expected = { kind: "md5", md5: "0".repeat(32) };
    const head = { sizeBytes: content.length, etag, modifiedAtMs: null };
    const opaque = await fetched({
      expected: wrong,
      ask: { head: async () => ({ ...head, sum: null, isOpaque: true }) },
    });
    expect([opaque.verdict, opaque.wireBytes]).toEqual(["unverified", content.length]);
    const sum = { crc32: crc32Hex(content), partCount: null };
    const summed = await fetched({ expected: wrong, ask: { head: async () => ({ ...head, sum, isOpaque: true }) } });
    expect([summed.verdict, summed.wireBytes]).toEqual(["verified", content.length]);
  });

  test("are refused against the sum of parts only when the store says that they are cut there", async () => {
    const expected: Expected = { kind: "parts", crc32: "00000000" };
    expect((await fetched({ expected })).verdict).toBe("unverified");
    await expect(fetched({ expected, ask: { partBytes: async () => 2 * MIB } })).rejects.toMatchObject({
      code: "CHECKSUM_MISMATCH",
    });
  });
});

test("without a sum there is nothing to compare, and that is said", async () => {
  expect((await fetched({ expected: { kind: "nothing" } })).verdict).toBe("unverified");
});

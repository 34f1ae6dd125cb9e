import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { readPut } from "#storage/s3/answers.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { compositeCrc32, crc32Hex } from "#storage/checksums/crc32.ts";
import { systemClock } from "../base/clock.ts";
import { callStore } from "../transfer/engine.ts";
import { syncFolder } from "../base/journal.ts";
import type { Piece } from "../transfer/download/piece.ts";
import { createPatience } from "../transfer/store-session/retry.ts";
import { openTrialStore, type TrialStore } from "../testing/trial-store.ts";
import type { Expected } from "./facts.ts";
import type { Fetched } from "./fetch-small.ts";
import { receiveSmall } from "./receive-small.ts";

const content = randomBytes(70_001);
const key = "small.bin";
/** The store keeps no sum of it. */
const bare = "bare.bin";
const crc32 = crc32Hex(content);
const md5Of = (bytes: Buffer) => createHash("md5").update(bytes).digest();
const md5 = md5Of(content).toString("hex");
const expected: Expected = { kind: "md5", md5 };

let store: TrialStore;
let etag: string;
let serial = 0;

beforeAll(async () => {
  store = await openTrialStore();
  const operation = { op: "put", key, sizeBytes: content.length, crc32, nonce: "n" } as const;
  const signal = new AbortController().signal;
  ({ etag } = await callStore(store.engine(), { operation, signal, body: content }, readPut));
  const plain = { ...operation, key: bare, checksum: "none" } as const;
  await callStore(store.engine(), { operation: plain, signal, body: content }, readPut);
});
afterEach(() => store.disarm());
afterAll(() => store.close());

const requests = async () => (await store.count("GetObject")).reduce((sum, one) => sum + one.requests, 0);

async function received(
  about: { expected?: Expected; key?: string; early?: Promise<Fetched | Fault | null>; taken?: "temporary" } = {},
) {
  const folder = join(store.folder, `small-${++serial}`);
  const [path, temporary] = [join(folder, "file"), join(folder, ".file.part-00ff")];
  await mkdir(about.taken === undefined ? folder : temporary, { recursive: true });
  const piece: Piece = {
    key: about.key ?? key,
    objectOffset: 0,
    fileOffset: 0,
    length: content.length,
    crc32: null,
    etag,
  };
  const told = { moved: 0, retries: [] as string[], states: [] as string[], kept: [] as string[] };
  const verdict = await receiveSmall(store.engine(), {
    piece,
    expected: about.expected ?? expected,
    temporary,
    path,
    early: about.early ?? null,
    syncFolder,
    memory: {
      done: async (at, _, sum) => {
        expect([at, crc32Hex(await readFile(at))]).toEqual([temporary, sum]);
        told.kept.push(sum);
      },
    },
    watch: {
      signal: new AbortController().signal,
      patience: createPatience(systemClock),
      onMoved: (bytes) => void (told.moved += bytes),
      onPiece: (_, state) => void told.states.push(state),
      onRetry: ({ code }) => void told.retries.push(code),
    },
  });
  return { verdict, told, path, folder };
}

test.each<[string, Expected, string]>([
  ["the MD5", expected, "verified"],
  ["the CRC32", { kind: "whole", crc32 }, "verified"],
  ["the CRC32 over its only part", { kind: "parts", crc32: compositeCrc32([crc32]) }, "verified"],
  ["the MD5 over its only part", { kind: "md5-parts", md5: md5Of(md5Of(content)).toString("hex") }, "verified"],
  ["nothing", { kind: "nothing" }, "unverified"],
])("is compared with %s and put in place", async (_, kind, wanted) => {
  const before = await requests();
  const { verdict, told, path, folder } = await received({ key: bare, expected: kind });
  expect([verdict, told.moved, told.states]).toEqual([wanted, content.length, ["moving", "done"]]);
  expect((await readFile(path)).equals(content)).toBe(true);
  expect(await readdir(folder)).toEqual(["file"]);
  expect((await requests()) - before).toBe(1);
});

test("is compared with the sum that the store keeps of it, where it tells that, and with no MD5", async () => {
  const about = [{ kind: "md5", md5: "0".repeat(32) }, { kind: "nothing" }] as const;
  for (const kind of about) expect((await received({ expected: kind })).verdict).toBe("verified");
});

test.each<[string, { crc32: string; partCount: number | null }, string | null]>([
  ["the sum of its only part", { crc32: compositeCrc32([crc32]), partCount: 1 }, "verified"],
  ["the sum of several parts, which says nothing here", { crc32: "00000000", partCount: 2 }, "verified"],
  ["another sum", { crc32: "00000000", partCount: null }, null],
  ["the sum of another part", { crc32, partCount: 1 }, null],
])("the store keeps %s", async (_, kept, wanted) => {
  const early = Promise.resolve({ bytes: content, crc32, kept, release: () => undefined });
  const { verdict, told, path } = await received({ early });
  expect([verdict, told.retries]).toEqual([wanted, wanted === null ? ["CHECKSUM_MISMATCH"] : []]);
  expect([existsSync(path), told.kept]).toEqual([wanted !== null, []]);
});

test("what was fetched before is not fetched again", async () => {
  const before = await requests();
  const { verdict, told, path } = await received({
    early: Promise.resolve({ bytes: content, crc32, kept: null, release: () => undefined }),
  });
  expect([verdict, told.moved]).toEqual(["verified", content.length]);
  expect((await readFile(path)).equals(content)).toBe(true);
  expect(await requests()).toBe(before);
});

test("what was not fetched before is fetched now", async () => {
  const { verdict } = await received({ early: Promise.resolve(null) });
  expect(verdict).toBe("verified");
});

test("what failed before is left to the long way", async () => {
  const before = await requests();
  const { verdict, told } = await received({ early: Promise.resolve(new Fault("STORE_UNAVAILABLE")) });
  expect([verdict, told.moved, told.retries]).toEqual([null, 0, ["STORE_UNAVAILABLE"]]);
  expect(await requests()).toBe(before);
});

test("bytes that are not as the ETag says are kept for the long way, which finds out whether it is an MD5", async () => {
  const { verdict, told, path } = await received({ key: bare, expected: { kind: "md5", md5: "0".repeat(32) } });
  expect([verdict, told.moved, told.retries, told.kept]).toEqual([null, 0, [], [crc32]]);
  expect(existsSync(path)).toBe(false);
});

test.each<[string, Record<string, unknown>, string]>([
  ["a byte that came wrong", { kind: "flip", side: "response", offset: 77 }, "CHECKSUM_MISMATCH"],
  ["an answer cut short", { kind: "truncate", afterBytes: 1_000, framing: "length" }, "TRUNCATED"],
  ["a web page in its place", { kind: "html", work: "skipped" }, "UNEXPECTED_ANSWER"],
  ["a busy store", { kind: "error" }, "THROTTLED"],
])("%s is left to the long way, and nothing is put in place", async (_, action, code) => {
  await store.arm({ op: "GetObject", times: 1, action });
  const { verdict, told, path } = await received({ expected: { kind: "whole", crc32 } });
  expect([verdict, told.moved, told.retries]).toEqual([null, 0, [code]]);
  expect(existsSync(path)).toBe(false);
});

test("a place that cannot be written is left to the long way, which says why", async () => {
  const { verdict, told, path } = await received({ taken: "temporary" });
  expect([verdict, told.moved]).toEqual([null, 0]);
  expect(existsSync(path)).toBe(false);
});

test("an object that is not there is a fault at once", async () => {
  await expect(received({ key: "none" })).rejects.toMatchObject({ code: "NO_SUCH_KEY" });
});

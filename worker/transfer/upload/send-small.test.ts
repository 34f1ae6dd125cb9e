import { randomBytes } from "node:crypto";
import { utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Operation } from "#protocol/wire/operations.ts";
import { createDirectSource } from "#storage/signing/direct-source.ts";
import { planParts } from "#storage/s3/plan.ts";
import { readHead } from "#storage/s3/answers.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { atOnce, diskSense } from "#worker/base/adaptive-sync-io.ts";
import { systemClock } from "#worker/base/clock.ts";
import { callStore, createEngine, type Engine } from "../engine.ts";
import { readIdentity } from "#worker/base/identity.ts";
import { fetchRange } from "../download/fetch-range.ts";
import { createPatience } from "../store-session/retry.ts";
import { openSendJournal, type SendJournal } from "./send-journal.ts";
import type { SendJob } from "./send-job.ts";
import { sendSmall, smallPartOf } from "./send-small.ts";
import { sendFile } from "./send.ts";
import { openTrialStore, type TrialStore } from "#worker/testing/trial-store.ts";

const content = randomBytes(50_021);
const never = new AbortController().signal;
let store: TrialStore;
let serial = 0;
let journals: SendJournal[] = [];

beforeAll(async () => {
  store = await openTrialStore();
});
beforeEach(async () => {
  // A test before this one may have waited for the disk; small files then take the long way for some calls.
  while (!diskSense.isQuick())
    await atOnce(
      () => undefined,
      async () => undefined,
    );
});
afterEach(async () => {
  await store.disarm();
  for (const journal of journals) await journal.close();
  journals = [];
});
afterAll(() => store.close());

interface Prepared {
  job: SendJob;
  path: string;
  retries: string[];
  states: string[];
  movedBytes(): number;
}

async function prepare(options: { bytes?: Buffer; signal?: AbortSignal } = {}): Promise<Prepared> {
  const { bytes = content, signal = never } = options;
  const key = `small/${++serial}`;
  const path = join(store.folder, `source-${serial}`);
  await writeFile(path, bytes);
  const identity = await readIdentity(path);
  const plan = planParts({ sizeBytes: identity.sizeBytes, traits: store.access.traits });
  const journal = await openSendJournal(join(store.folder, `journal-${serial}.jsonl`));
  journals.push(journal);
  const { memory, nonce } = await journal.file({ key, identity, partBytes: plan.partBytes });
  const retries: string[] = [];
  const states: string[] = [];
  let moved = 0;
  const job: SendJob = {
    path,
    key,
    identity,
    plan,
    nonce,
    memory,
    knownSums: () => null,
    watch: {
      signal,
      patience: createPatience(systemClock),
      onMoved: (count) => (moved += count),
      onPart: (_, state) => void states.push(state),
      onRetry: (fault) => void retries.push(fault.code),
    },
  };
  return { job, path, retries, states, movedBytes: () => moved };
}

async function stored(engine: Engine, key: string): Promise<Buffer> {
  const head = await callStore(engine, { operation: { op: "head", key }, signal: never }, readHead);
  const chunks: Buffer[] = [];
  const length = head.sizeBytes;
  await fetchRange(engine, {
    operation: { op: "get", key, offset: 0, length, etag: head.etag },
    offset: 0,
    length,
    signal: never,
    sink: { head: () => undefined, bytes: (chunk) => void chunks.push(Buffer.from(chunk)) },
  });
  return Buffer.concat(chunks);
}

const asked = async (op: string, key: string): Promise<number> =>
  (await store.count(op)).find((target) => target.key === key)?.requests ?? 0;

test("it is there after one request, and remembered with its sum", async () => {
  const engine = store.engine();
  const { job, states, movedBytes } = await prepare();
  const extents = await sendFile(engine, job);
  expect(await asked("PutObject", job.key)).toBe(1);
  expect(await asked("HeadObject", job.key)).toBe(0);
  expect(states).toEqual(["moving", "done"]);
  expect(movedBytes()).toBe(content.length);
  expect(engine.meter.totalBytes).toBe(content.length);
  expect(extents).toMatchObject([{ length: content.length, crc32: crc32Hex(content) }]);
  expect(job.memory.sentEtag).toBe(extents[0]?.etag);
  expect((await stored(engine, job.key)).equals(content)).toBe(true);
});

test("what is longer, or comes from elsewhere, or was sent in an earlier life, goes the way of all others", async () => {
  const engine = store.engine();
  expect(smallPartOf(engine, (await prepare({ bytes: randomBytes(128 * 1024) })).job)).not.toBeNull();
  expect(smallPartOf(engine, (await prepare({ bytes: randomBytes(128 * 1024 + 1) })).job)).toBeNull();
  const { job } = await prepare();
  expect(smallPartOf({ memoryBytes: 40 * 1024 * 1024 }, job)).toBeNull();
  expect(smallPartOf(engine, { ...job, open: () => Promise.reject(new Error("not asked")) })).toBeNull();
  await job.memory.acknowledge(1, { etag: '"an-earlier-one"', crc32: crc32Hex(content) });
  expect(smallPartOf(engine, job)).toBeNull();
});

describe("a file that is no longer what was listed", () => {
  const changes: [string, (path: string) => Promise<void>][] = [
    ["longer", (path) => writeFile(path, randomBytes(content.length + 1))],
    ["shorter", (path) => writeFile(path, randomBytes(content.length - 1))],
    ["written again", (path) => utimes(path, 1, 1)],
  ];
  test.each(changes)("%s: nothing of it is sent", async (_, change) => {
    const { job, path } = await prepare();
    await change(path);
    await expect(sendFile(store.engine(), job)).rejects.toMatchObject({ code: "SOURCE_CHANGED" });
    expect(await asked("PutObject", job.key)).toBe(0);
  });

  test("of which other sums were known than it has: it is not taken for that", async () => {
    const { job } = await prepare();
    const part = smallPartOf(store.engine(), job);
    if (part === null) throw new Error("it is small");
    const known = { ...job, knownSums: () => ({ crc32: "00000001" }) };
    expect(await sendSmall(store.engine(), known, part)).toBe("left");
    expect(await asked("PutObject", job.key)).toBe(0);
  });
});

describe("one trouble, and the object is right and was looked at", () => {
  const troubles: [string, Record<string, unknown>, string][] = [
    ["a reset in the middle", { kind: "reset", at: "request", afterBytes: 20_000 }, "LINK_DOWN"],
    ["an answer that is lost", { kind: "drop-response" }, "LINK_DOWN"],
    ["a byte that flipped on its way", { kind: "flip", side: "request", offset: 40_000 }, "CHECKSUM_MISMATCH"],
    ["a web page in place of an answer", { kind: "html" }, "INTERCEPTED"],
    ["an answer without an ETag", { kind: "no-etag" }, "UNEXPECTED_ANSWER"],
    ["a store that throttles", { kind: "error", status: 503, code: "SlowDown" }, "THROTTLED"],
  ];
  test.each(troubles)("%s", async (_, action, code) => {
    const engine = store.engine({ idleMs: 1_000 });
    const { job, retries, states, movedBytes } = await prepare();
    await store.arm({ op: "PutObject", times: 1, action });
    await sendFile(engine, job);
    expect(retries).toEqual([code]);
    expect(states.at(-1)).toBe("done");
    expect(movedBytes()).toBe(content.length);
    expect(await asked("PutObject", job.key)).toBe(2);
    expect(await asked("HeadObject", job.key)).toBeGreaterThan(0);
    expect((await stored(engine, job.key)).equals(content)).toBe(true);
  });
});

test("a refusal that will not change is the end of it, after one request", async () => {
  const { job } = await prepare();
  await store.arm({ op: "PutObject", action: { kind: "error", status: 403, code: "AccessDenied" } });
  await expect(sendFile(store.engine(), job)).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  expect(await asked("PutObject", job.key)).toBe(1);
});

test("one whose answer does not come is sent once more beside that, and nobody waits for it", async () => {
  const engine = store.engine({ idleMs: 60_000 });
  for (let before = 0; before < 3; before++) await sendFile(engine, (await prepare()).job);
  const { job, retries, movedBytes } = await prepare();
  await store.arm({ op: "PutObject", times: 1, action: { kind: "stall", side: "response", afterBytes: 0 } });
  await sendFile(engine, job);
  // The store counts a request when it is done with it.
  await expect.poll(() => asked("PutObject", job.key)).toBe(2);
  expect(retries).toEqual([]);
  expect(movedBytes()).toBe(content.length);
  expect((await stored(engine, job.key)).equals(content)).toBe(true);
});

test("a second try that waits for its signature when the first one arrives sends nothing any more", async () => {
  const { access, credential } = store;
  const direct = createDirectSource({ access, credential });
  let signing = Promise.resolve();
  const source = {
    sign: async (operations: readonly Operation[]) => {
      await signing;
      return direct.sign(operations);
    },
  };
  const about = { traits: access.traits, connections: 4, limitBytesPerSecond: 0, signerNow: Date.now };
  const engine = createEngine({ source, ...about });
  try {
    for (let before = 0; before < 3; before++) await sendFile(engine, (await prepare()).job);
    const { job, movedBytes } = await prepare();
    await store.arm({ op: "PutObject", times: 1, action: { kind: "delay", ms: 1_500 } });
    const sending = sendFile(engine, job);
    await expect.poll(movedBytes).toBe(content.length);
    const held = Promise.withResolvers<void>();
    signing = held.promise;
    // It is in line for the second try by then.
    await expect.poll(() => engine.semaphore.held).toBe(2);
    await sending;
    held.resolve();
    await sendFile(engine, (await prepare()).job);
    expect(await asked("PutObject", job.key)).toBe(1);
    expect(movedBytes()).toBe(content.length);
    await expect.poll(() => engine.semaphore.held).toBe(0);
  } finally {
    await engine.close();
  }
});

test("while a limit holds, and after a disk that had to be waited for, it takes the long way and arrives", async () => {
  const engine = store.engine({ limit: 50_000_000 });
  const { job } = await prepare();
  const part = smallPartOf(engine, job);
  if (part === null) throw new Error("it is small");
  expect(await sendSmall(engine, job, part)).toBe("left");
  await sendFile(engine, job);
  expect((await stored(engine, job.key)).equals(content)).toBe(true);
});

test("stopped in the middle it ends at once, and its bytes count no more", async () => {
  const stop = new AbortController();
  const engine = store.engine({ idleMs: 60_000 });
  const { job, movedBytes } = await prepare({ signal: stop.signal });
  await store.arm({ op: "PutObject", times: 1, action: { kind: "stall", side: "response", afterBytes: 0 } });
  const sending = sendFile(engine, job);
  await expect.poll(() => movedBytes()).toBe(content.length);
  stop.abort();
  await expect(sending).rejects.toMatchObject({ code: "CANCELLED" });
  expect(movedBytes()).toBe(0);
});

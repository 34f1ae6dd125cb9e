import { hash, randomBytes } from "node:crypto";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { planParts } from "#storage/s3/plan.ts";
import { readHead } from "#storage/s3/answers.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { createDirectSource } from "#storage/signing/direct-source.ts";
import { callStore, createEngine, type Engine } from "../engine.ts";
import { readIdentity } from "#worker/base/identity.ts";
import { receiveFile, openReceiveJournal } from "../download/receive-file.ts";
import { createPatience } from "../store-session/retry.ts";
import { openSendJournal, type SendJournal } from "./send-journal.ts";
import type { SendJob } from "./send-job.ts";
import { sendFile } from "./send.ts";
import { systemClock } from "#worker/base/clock.ts";
import { openTrialStore, TROUBLES_OF_UPLOADS, type TrialStore } from "#worker/testing/trial-store.ts";

const MIB = 1024 * 1024;
const content = randomBytes(23 * MIB + 321);
let store: TrialStore;
let source: string;
let serial = 0;
let journals: SendJournal[] = [];

beforeAll(async () => {
  store = await openTrialStore();
  source = join(store.folder, "source.bin");
  await writeFile(source, content);
});
afterEach(async () => {
  await store.disarm();
  for (const journal of journals) await journal.close();
  journals = [];
});
afterAll(() => store.close());

const freshKey = () => `runs/test/${++serial}/model.bin`;

async function prepare(options: {
  key: string;
  path?: string;
  journal?: string;
  signal?: AbortSignal;
  onPart?: () => void;
}) {
  const { key, path = source } = options;
  const identity = await readIdentity(path);
  const plan = planParts({ sizeBytes: identity.sizeBytes, traits: store.access.traits, requestedPartBytes: 5 * MIB });
  const journal = await openSendJournal(options.journal ?? join(store.folder, `journal-${++serial}.jsonl`));
  journals.push(journal);
  const { memory, nonce } = await journal.file({ key, identity, partBytes: plan.partBytes });
  const retries: string[] = [];
  const job: SendJob = {
    path,
    key,
    identity,
    plan,
    nonce,
    memory,
    knownSums: () => null,
    watch: {
      signal: options.signal ?? new AbortController().signal,
      patience: createPatience(systemClock),
      onMoved: () => undefined,
      onPart: (_, state) => state === "done" && options.onPart?.(),
      onRetry: (fault) => void retries.push(fault.code),
    },
  };
  return { job, journal, retries };
}

/** Fetches the object with the real receiving end and compares every byte. */
async function expectStored(engine: Engine, key: string, expected: Buffer) {
  const signal = new AbortController().signal;
  const head = await callStore(engine, { operation: { op: "head", key }, signal }, readHead);
  const path = join(store.folder, `back-${++serial}.bin`);
  const memory = await openReceiveJournal(join(store.folder, `back-${serial}.jsonl`));
  const piece = {
    key,
    objectOffset: 0,
    fileOffset: 0,
    length: head.sizeBytes,
    crc32: crc32Hex(expected),
    etag: head.etag,
  };
  await receiveFile(
    engine,
    { path, sizeBytes: head.sizeBytes, pieces: [piece] },
    {
      memory,
      watch: {
        signal,
        patience: createPatience(systemClock),
        onMoved: () => undefined,
        onPiece: () => undefined,
        onRetry: () => undefined,
      },
    },
  );
  await memory.close();
  expect((await readFile(path)).equals(expected)).toBe(true);
}

describe("one trouble each, and the object is still right", () => {
  const forgotten = { op: "UploadPart", partNumber: 4, times: 1, action: { kind: "lose-upload" } };
  test.each([...TROUBLES_OF_UPLOADS, ["an upload the store forgot", forgotten] as const])("%s", async (_, rule) => {
    const engine = store.engine({ idleMs: 1_000 });
    const key = freshKey();
    const { job } = await prepare({ key });
    await store.arm(rule);
    const extents = await sendFile(engine, job);
    await store.disarm();
    expect(extents.map(({ length }) => length)).toEqual(job.plan.parts.map(({ length }) => length));
    for (const [index, { offset, length }] of job.plan.parts.entries()) {
      expect(extents[index]?.crc32).toBe(crc32Hex(content.subarray(offset, offset + length)));
    }
    await expectStored(engine, key, content);
  });

  test("a small file whose answer is lost is found by its nonce", async () => {
    const path = join(store.folder, "small.bin");
    await writeFile(path, "small");
    const engine = store.engine();
    const key = freshKey();
    const { job } = await prepare({ key, path });
    await store.arm({ op: "PutObject", times: 1, action: { kind: "drop-response" } });
    await sendFile(engine, job);
    await expectStored(engine, key, Buffer.from("small"));
  });
});

test("a part refused because its signature was over is signed again", async () => {
  const key = freshKey();
  const { job, retries } = await prepare({ key });
  await store.arm({ op: "UploadPart", partNumber: 2, times: 1, action: { kind: "expire" } });
  // By the signer's clock every signature is over as soon as it is made.
  const engine = store.engine({ signerNow: () => Date.now() + 7_200_000 });
  await sendFile(engine, job);
  expect(retries).toEqual(["SIGNATURE_EXPIRED"]);
  await expectStored(store.engine(), key, content);
});

test("a Complete that has to probe a broken link gets through when the link is back", async () => {
  const key = freshKey();
  const { job } = await prepare({ key });
  await store.arm({ op: "CompleteMultipartUpload", times: 3, action: { kind: "reset", at: "start" } });
  await store.arm({ op: "HeadObject", times: 2, action: { kind: "reset", at: "start" } });
  const engine = store.engine();
  await sendFile(engine, job);
  await expectStored(engine, key, content);
});

test("goes on at the first missing part after it was stopped, and sends no part twice", async () => {
  const key = freshKey();
  const journalPath = join(store.folder, "resume.jsonl");
  const stop = new AbortController();
  let done = 0;
  const first = await prepare({
    key,
    journal: journalPath,
    signal: stop.signal,
    onPart: () => ++done === 2 && stop.abort(),
  });
  const slow = store.engine({ limit: 40 * MIB, connections: 1 });
  await expect(sendFile(slow, first.job)).rejects.toMatchObject({ code: "CANCELLED" });

  const second = await prepare({ key, journal: journalPath });
  expect(second.job.memory.uploadId).toBe(first.job.memory.uploadId);
  expect(second.job.memory.parts.size).toBeGreaterThanOrEqual(2);
  const engine = store.engine();
  await sendFile(engine, second.job);
  const parts = (await store.count("UploadPart")).filter((target) => target.key === key);
  expect(parts.filter(({ succeeded }) => succeeded !== 1)).toEqual([]);
  expect(parts).toHaveLength(second.job.plan.parts.length);
  // Asked once, by the second life: the first one knew that it had just begun.
  expect((await store.count("ListParts")).filter((target) => target.key === key)).toMatchObject([{ requests: 1 }]);
  await expectStored(engine, key, content);
});

test("a file that grows while it is sent is refused, not uploaded as a mixture", async () => {
  const path = join(store.folder, "grows.bin");
  await writeFile(path, content);
  const key = freshKey();
  const growth: Promise<void>[] = [];
  const { job } = await prepare({ key, path, onPart: () => void growth.push(appendFile(path, "more")) });
  await expect(sendFile(store.engine({ connections: 1 }), job)).rejects.toMatchObject({ code: "SOURCE_CHANGED" });
  await Promise.all(growth);
  const completes = await store.count("CompleteMultipartUpload");
  expect(completes.filter((target) => target.key === key)).toEqual([]);
});

test("gives up with the store's own fault when nothing moved for the time it was given", async () => {
  await store.arm({ op: "UploadPart", action: { kind: "error", status: 503, code: "ServiceUnavailable" } });
  const { job, retries } = await prepare({ key: freshKey() });
  await expect(sendFile(store.engine({ patienceMs: 2_000 }), job)).rejects.toMatchObject({ retry: "backoff" });
  expect(retries.length).toBeGreaterThan(0);
});

describe("a clock that is hours off", () => {
  /** An engine on a machine with this clock, that signs by it. */
  function engineBy(wallNow: () => number) {
    const { access, credential } = store;
    const source = createDirectSource({ access, credential, now: wallNow });
    const { traits } = access;
    const engine = createEngine({
      source,
      traits,
      connections: 4,
      limitBytesPerSecond: 0,
      signerNow: source.now,
      wallNow,
    });
    const said: string[] = [];
    engine.store.onSay = (sentence) => void said.push(sentence);
    return { engine, said };
  }
  const HOURS_MS = 2 * 3_600_000;

  test.each([
    ["ahead", HOURS_MS],
    ["behind", -HOURS_MS],
  ])("%s of the store's is noticed at the first answer and said once, both ways", async (word, offMs) => {
    const { engine, said } = engineBy(() => Date.now() + offMs);
    const key = freshKey();
    const { job, retries } = await prepare({ key });
    await sendFile(engine, job);
    await expectStored(engine, key, content);
    expect(retries).toEqual(["SIGNATURE_EXPIRED"]);
    expect(said).toEqual([expect.stringMatching(new RegExp(`^this machine's clock is 2 h ${word}`))]);
    await engine.close();
  });

  test("from one moment to the next fails none of the parts that are under way or signed already", async () => {
    let offMs = 0;
    const { engine } = engineBy(() => Date.now() + offMs);
    const key = freshKey();
    const { job, retries } = await prepare({ key, onPart: () => (offMs = HOURS_MS) });
    await sendFile(engine, job);
    expect(new Set(retries)).toEqual(new Set(["SIGNATURE_EXPIRED"]));
    await expectStored(engine, key, content);
    await engine.close();
  });
});

describe("what goes along with bytes", () => {
  test("is found out without counting as trouble, and what is sent afterwards is sent so at once", async () => {
    const refusal = { kind: "error", status: 400, code: "InvalidArgument" };
    await store.arm({ op: "CreateMultipartUpload", times: 1, action: refusal });
    const engine = store.engine();
    const [first, second] = [freshKey(), freshKey()];
    const { job, retries } = await prepare({ key: first });
    expect(engine.store.checksum).toBe("crc32");
    await sendFile(engine, job);
    expect(engine.store.checksum).toBe("md5");
    expect(job.memory.checksum).toBe("md5");
    expect(engine.store.found(1_000)).toEqual({ checksum: "md5", foundAt: 1_000 });
    const again = await prepare({ key: second });
    await sendFile(engine, again.job);
    expect([...retries, ...again.retries]).toEqual([]);
    const creates = await store.count("CreateMultipartUpload");
    expect([first, second].map((key) => creates.find((one) => one.key === key)?.requests)).toEqual([2, 1]);
    await expectStored(engine, first, content);
    await expectStored(engine, second, content);
  });

  /** A store whose profile wants MD5s. */
  function engineOfMd5() {
    const { access, credential } = store;
    const traits = { ...access.traits, checksum: "md5" } as const;
    const source = createDirectSource({ access: { ...access, traits }, credential });
    const engine = createEngine({ source, traits, connections: 4, limitBytesPerSecond: 0, signerNow: source.now });
    const said: string[] = [];
    engine.store.onSay = (sentence) => void said.push(sentence);
    return { engine, said };
  }

  test("is MD5 where that is known, and a flipped byte is found by it", async () => {
    const { engine } = engineOfMd5();
    await store.arm({
      op: "UploadPart",
      partNumber: 3,
      times: 1,
      action: { kind: "flip", side: "request", offset: 100_000 },
    });
    const key = freshKey();
    const { job, retries } = await prepare({ key });
    await sendFile(engine, job);
    expect(retries).toEqual(["CHECKSUM_MISMATCH"]);
    await expectStored(engine, key, content);
    await engine.close();
  });

  test("refused for every part under way, all of them go again without, and that is said", async () => {
    const { engine, said } = engineOfMd5();
    // All four are on their way before the first is refused: none of them has to be read first, and no answer is quick.
    await store.arm({ op: "UploadPart", times: 4, action: { kind: "delay", ms: 2000 } });
    await store.arm({ op: "UploadPart", times: 4, action: { kind: "error", status: 501, code: "NotImplemented" } });
    const key = freshKey();
    const { job, retries } = await prepare({ key });
    const sums = new Map(
      job.plan.parts.map(({ partNumber, offset, length }) => {
        const bytes = content.subarray(offset, offset + length);
        return [partNumber, { crc32: crc32Hex(bytes), md5: hash("md5", bytes) }];
      }),
    );
    await sendFile(engine, { ...job, knownSums: ({ partNumber }) => sums.get(partNumber) ?? null });
    expect(retries).toEqual([]);
    expect(engine.store.checksum).toBe("none");
    expect(said).toEqual([expect.stringContaining("takes no checksums")]);
    await expectStored(engine, key, content);
    await engine.close();
  });
});

test("a small file whose first answer left nothing open is not asked for again", async () => {
  const path = join(store.folder, "sure.bin");
  await writeFile(path, "sure");
  const [sure, lost] = [freshKey(), freshKey()];
  const { job } = await prepare({ key: sure, path });
  await sendFile(store.engine(), job);
  await store.arm({ op: "PutObject", times: 1, action: { kind: "no-etag" } });
  const again = await prepare({ key: lost, path });
  await sendFile(store.engine(), again.job);
  const heads = await store.count("HeadObject");
  expect(heads.filter(({ key }) => key === sure)).toEqual([]);
  expect(heads.find(({ key }) => key === lost)?.succeeded).toBeGreaterThan(0);
});

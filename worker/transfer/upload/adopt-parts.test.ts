import { hash, randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { createDirectSource } from "#storage/signing/direct-source.ts";
import { planParts } from "#storage/s3/plan.ts";
import { systemClock } from "#worker/base/clock.ts";
import { createEngine, type Engine } from "../engine.ts";
import { readIdentity } from "#worker/base/identity.ts";
import type { PartSums } from "./read-part.ts";
import { createPatience } from "../store-session/retry.ts";
import { openSendJournal, type SendJournal } from "./send-journal.ts";
import type { SendJob } from "./send-job.ts";
import { sendFile } from "./send.ts";
import { openTrialStore, type TrialStore } from "#worker/testing/trial-store.ts";

/** Parts that the store has and the journal of an upload does not: as a kill between the two leaves them. */

const MIB = 1024 * 1024;
const PART = 5 * MIB;
const content = randomBytes(17 * MIB + 321);
const COUNT = 4;
let store: TrialStore;
let serial = 0;
const journals: SendJournal[] = [];
beforeAll(async () => {
  store = await openTrialStore();
});
afterEach(async () => {
  await store.disarm();
  for (const journal of journals.splice(0)) await journal.close();
});
afterAll(() => store.close());

async function prepare(given: { key: string; bytes?: Buffer; knownSums?: SendJob["knownSums"] }) {
  const path = join(store.folder, `source-${++serial}.bin`);
  await writeFile(path, given.bytes ?? content);
  const identity = await readIdentity(path);
  const plan = planParts({ sizeBytes: identity.sizeBytes, traits: store.access.traits, requestedPartBytes: PART });
  const journal = await openSendJournal(join(store.folder, `journal-${serial}.jsonl`));
  journals.push(journal);
  const { memory, nonce } = await journal.file({ key: given.key, identity, partBytes: plan.partBytes });
  const kept: number[] = [];
  const job: SendJob = {
    path,
    key: given.key,
    identity,
    plan,
    nonce,
    memory,
    knownSums: given.knownSums ?? (() => null),
    watch: {
      signal: new AbortController().signal,
      patience: createPatience(systemClock),
      onMoved: () => undefined,
      onPart: ({ partNumber }, state) => void (state === "kept" && kept.push(partNumber)),
      onRetry: () => undefined,
    },
  };
  return { job, kept };
}

/** Sends all parts and is refused the last request. */
async function leaveParts(engine: Engine, job: SendJob): Promise<void> {
  await store.arm({ op: "CompleteMultipartUpload", action: { kind: "error", status: 403, code: "AccessDenied" } });
  await expect(sendFile(engine, job)).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  await store.disarm();
}

/** The job as the next life has it: it knows the upload and none of its parts. */
const resumed = (job: SendJob, first: SendJob): SendJob => ({
  ...job,
  nonce: first.nonce,
  memory: {
    uploadId: first.memory.uploadId,
    checksum: first.memory.checksum,
    lostWithinMs: null,
    isFresh: false,
    parts: job.memory.parts,
    sentEtag: null,
    begin: (upload) => job.memory.begin(upload),
    acknowledge: (partNumber, part) => job.memory.acknowledge(partNumber, part),
    finish: (etag, crc32) => job.memory.finish(etag, crc32),
  },
});

const timesSent = async (key: string) =>
  (await store.count("UploadPart"))
    .filter((target) => target.key === key)
    .toSorted((a, b) => (a.partNumber ?? 0) - (b.partNumber ?? 0))
    .map(({ requests }) => requests);

const sums = new Map<number, PartSums>(
  Array.from({ length: COUNT }, (_, index) => {
    const bytes = content.subarray(index * PART, (index + 1) * PART);
    return [index + 1, { crc32: crc32Hex(bytes), md5: hash("md5", bytes) }];
  }),
);

test.each([
  ["whose sums are known", (part: { partNumber: number }) => sums.get(part.partNumber) ?? null],
  ["whose sums nobody knows before the file is read", () => null],
])("parts %s are kept and not sent again", async (_, knownSums) => {
  const key = `adopted/${++serial}.bin`;
  const first = await prepare({ key });
  await leaveParts(store.engine(), first.job);
  const { job, kept } = await prepare({ key, knownSums });
  await sendFile(store.engine(), resumed(job, first.job));
  expect(kept.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4]);
  expect(await timesSent(key)).toEqual([1, 1, 1, 1]);
});

test("a part of the same length and other bytes is sent again", async () => {
  const key = `adopted/${++serial}.bin`;
  const other = Buffer.from(content);
  other.writeUInt8(other.readUInt8(PART + 7) ^ 1, PART + 7);
  const first = await prepare({ key, bytes: other });
  await leaveParts(store.engine(), first.job);
  const { job, kept } = await prepare({ key });
  await sendFile(store.engine(), resumed(job, first.job));
  expect(kept.toSorted((a, b) => a - b)).toEqual([1, 3, 4]);
  expect(await timesSent(key)).toEqual([1, 2, 1, 1]);
});

test("an upload that was completed before the journal had its parts is whole, with the sums of its parts", async () => {
  const key = `adopted/${++serial}.bin`;
  const first = await prepare({ key });
  const wanted = await sendFile(store.engine(), first.job);
  const { job, kept } = await prepare({ key });
  expect(await sendFile(store.engine(), resumed(job, first.job))).toEqual(wanted);
  expect(kept.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4]);
  expect(await timesSent(key)).toEqual([1, 1, 1, 1]);
});

describe("a store that keeps no CRC32", () => {
  /** The profile wants MD5s, and the store lists none of the sums that it was not sent. */
  function engineOfMd5(): Engine {
    const { access, credential } = store;
    const traits = { ...access.traits, checksum: "md5" } as const;
    const source = createDirectSource({ access: { ...access, traits }, credential });
    return createEngine({ source, traits, connections: 4, limitBytesPerSecond: 0, signerNow: source.now });
  }

  test("shows by the ETag of a part, which is its MD5, that the bytes are these", async () => {
    const key = `adopted/${++serial}.bin`;
    const first = await prepare({ key });
    const [one, two] = [engineOfMd5(), engineOfMd5()];
    await leaveParts(one, first.job);
    const { job, kept } = await prepare({ key });
    await sendFile(two, resumed(job, first.job));
    expect(kept.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4]);
    expect(await timesSent(key)).toEqual([1, 1, 1, 1]);
    await Promise.all([one.close(), two.close()]);
  });
});

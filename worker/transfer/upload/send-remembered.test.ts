import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { planParts } from "#storage/s3/plan.ts";
import { systemClock } from "#worker/base/clock.ts";
import { readIdentity } from "#worker/base/identity.ts";
import { createPatience } from "../store-session/retry.ts";
import type { SendJob } from "./send-job.ts";
import { openSendJournal, type SendJournal } from "./send-journal.ts";
import { sendFile } from "./send.ts";
import { openTrialStore, type TrialStore } from "#worker/testing/trial-store.ts";

const MIB = 1024 * 1024;
let store: TrialStore;
let source: string;
let serial = 0;
const journals: SendJournal[] = [];

beforeAll(async () => {
  store = await openTrialStore();
  source = join(store.folder, "source.bin");
  await writeFile(source, randomBytes(23 * MIB));
});
afterAll(async () => {
  for (const journal of journals) await journal.close();
  await store.close();
});

/** An upload whose parts are written down by `remember`, after they are known. */
async function prepare(remember: (partNumber: number) => Promise<void>) {
  const key = `runs/test/${++serial}/model.bin`;
  const identity = await readIdentity(source);
  const plan = planParts({ sizeBytes: identity.sizeBytes, traits: store.access.traits, requestedPartBytes: 5 * MIB });
  const journal = await openSendJournal(join(store.folder, `journal-${serial}.jsonl`));
  journals.push(journal);
  const { memory, nonce } = await journal.file({ key, identity, partBytes: plan.partBytes });
  const job: SendJob = {
    path: source,
    key,
    identity,
    plan,
    nonce,
    memory: {
      get uploadId() {
        return memory.uploadId;
      },
      get checksum() {
        return memory.checksum;
      },
      lostWithinMs: null,
      isFresh: true,
      get parts() {
        return memory.parts;
      },
      sentEtag: null,
      begin: (upload) => memory.begin(upload),
      acknowledge: async (partNumber, part) => {
        await memory.acknowledge(partNumber, part);
        await remember(partNumber);
      },
      finish: (etag, crc32) => memory.finish(etag, crc32),
    },
    knownSums: () => null,
    watch: {
      signal: new AbortController().signal,
      patience: createPatience(systemClock),
      onMoved: () => undefined,
      onPart: () => undefined,
      onRetry: () => undefined,
    },
  };
  const completes = async () =>
    (await store.count("CompleteMultipartUpload")).filter((one) => one.key === key && one.succeeded > 0).length;
  return { job, completes };
}

test("the store is asked to complete an upload while its last parts are still being written down", async () => {
  const written = Promise.withResolvers<void>();
  const { job, completes } = await prepare(() => written.promise);
  let isOver = false;
  const sending = sendFile(store.engine(), job).then(() => (isOver = true));
  await expect.poll(completes).toBe(1);
  expect(isOver).toBe(false);
  written.resolve();
  await sending;
});

test("what could not be written down before all parts are there fails the upload, and nothing more is sent", async () => {
  const { job, completes } = await prepare((partNumber) =>
    partNumber === 1 ? Promise.reject(new Fault("NO_SPACE")) : Promise.resolve(),
  );
  await expect(sendFile(store.engine({ connections: 1 }), job)).rejects.toMatchObject({ code: "NO_SPACE" });
  expect(await completes()).toBe(0);
});

test("what could not be written down while the store completes it is told, too", async () => {
  const written = Promise.withResolvers<void>();
  const { job, completes } = await prepare(() => written.promise);
  const sending = sendFile(store.engine(), job);
  sending.catch(() => undefined);
  await expect.poll(completes).toBe(1);
  written.reject(new Fault("NO_SPACE"));
  await expect(sending).rejects.toMatchObject({ code: "NO_SPACE" });
});

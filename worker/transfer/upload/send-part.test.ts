import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { createDirectSource } from "#storage/signing/direct-source.ts";
import { planParts } from "#storage/s3/plan.ts";
import { systemClock } from "#worker/base/clock.ts";
import { createEngine, type Engine } from "../engine.ts";
import { readIdentity } from "#worker/base/identity.ts";
import { createPatience } from "../store-session/retry.ts";
import { openSendJournal } from "./send-journal.ts";
import { sendFile } from "./send.ts";
import { openTrialStore, type TrialStore } from "#worker/testing/trial-store.ts";

const MIB = 1024 * 1024;
const content = randomBytes(17 * MIB + 5);
const never = new AbortController().signal;
let store: TrialStore;
let engine: Engine;

beforeAll(async () => {
  store = await openTrialStore(["ignore-checksums"]);
  const { access, credential } = store;
  const traits = { ...access.traits, checksum: "none", probeChecksum: true } as const;
  const source = createDirectSource({ access: { ...access, traits }, credential });
  engine = createEngine({ source, traits, connections: 4, limitBytesPerSecond: 0, signerNow: source.now });
});
afterAll(async () => {
  await engine.close();
  await store.close();
});

/** Sends a file to a store that nobody knows and that looks at no sum; part 2 was other bytes when it was summed, or not. */
async function send({ isChanged }: { isChanged: boolean }): Promise<string> {
  const key = `${isChanged ? "changed" : "same"}.bin`;
  const path = join(store.folder, key);
  await writeFile(path, content);
  const identity = await readIdentity(path);
  const plan = planParts({ sizeBytes: identity.sizeBytes, traits: store.access.traits, requestedPartBytes: 5 * MIB });
  const journal = await openSendJournal(join(store.folder, `${key}.jsonl`));
  const { memory, nonce } = await journal.file({ key, identity, partBytes: plan.partBytes });
  const watch = {
    signal: never,
    patience: createPatience(systemClock),
    onMoved: () => undefined,
    onPart: () => undefined,
    onRetry: () => undefined,
  };
  const knownSums = ({ partNumber, offset, length }: (typeof plan.parts)[number]) =>
    isChanged && partNumber === 2
      ? { crc32: "00000001" }
      : { crc32: crc32Hex(content.subarray(offset, offset + length)) };
  try {
    await sendFile(engine, { path, key, identity, plan, nonce, memory, knownSums, watch });
  } finally {
    await journal.close();
  }
  return key;
}

const completed = async (key: string): Promise<number> =>
  (await store.count("CompleteMultipartUpload")).filter((target) => target.key === key).length;

test("where nobody compared a part with its sum, bytes that are no longer those that were summed never become an object", async () => {
  await expect(send({ isChanged: true })).rejects.toMatchObject({ code: "SOURCE_CHANGED" });
  expect(engine.store.compares("crc32")).toBe(false);
  expect(await completed("changed.bin")).toBe(0);
});

test("and those that are become one", async () => {
  expect(await completed(await send({ isChanged: false }))).toBe(1);
});

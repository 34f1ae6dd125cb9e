import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { manifest as manifestSchema, type Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { recordInput } from "#protocol/wire/reports.ts";
import { systemClock } from "../base/clock.ts";
import { openTrialStore, type TrialStore } from "../testing/trial-store.ts";
import { openCommandMemory, type CommandMemory } from "../hub-link/command-memory.ts";
import { openOutbox, type Outbox } from "../hub-link/outbox.ts";
import { createRestorer } from "./restorer.ts";
import { manifestOf, restoreJobOf, storeFile, type StoredFile } from "../testing/stage-stored.ts";

let store: TrialStore;
let stored: StoredFile;
let manifest: Manifest;
let folder: string;
let memory: CommandMemory;
let outbox: Outbox;
beforeAll(async () => {
  store = await openTrialStore();
  const key = "runs/llama/e000001/aaaaaaaaaaaa/_tidemark.packs/00001.pack";
  stored = await storeFile(store, { key, sizeBytes: 100_000, pieceBytes: 1_000 });
  const files = stored.pieces.map((piece, index) => ({
    path: `shards/${index}.bin`,
    sizeBytes: piece.length,
    mtimeMs: 1,
    sha256: null,
    extents: [piece],
  }));
  manifest = manifestSchema.parse({ ...manifestOf(stored), files });
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-restorer-"));
  memory = await openCommandMemory(join(folder, "commands.jsonl"));
  outbox = await openOutbox(join(folder, "outbox.jsonl"), () => 1);
});
afterEach(async () => {
  await Promise.all([memory.close(), outbox.close()]);
  await rm(folder, { recursive: true, force: true });
});
afterAll(() => store.close());

/** Carries out one restore of what the hub gives for it, until its end is in the outbox. */
async function restoreThat(given: Manifest) {
  const target = join(folder, "out", "checkpoint-500");
  const { command, hub } = restoreJobOf(manifest, { folder, target, given });
  await memory.accept(command, 1);
  const stop = new AbortController();
  const engine = store.engine();
  const restorer = createRestorer({
    memory,
    outbox,
    hub,
    clock: systemClock,
    journals: join(folder, "journals"),
    engine: () => engine,
    signal: stop.signal,
    beforePlaced: async () => undefined,
    replaced: {},
    onStart: () => undefined,
    onEnd: () => undefined,
  });
  const running = restorer.run();
  while (!outbox.next().some(({ type }) => type === "command-ended")) await systemClock.sleep(5);
  stop.abort();
  await running;
  // As the hub reads it.
  return { target, events: recordInput.parse({ events: outbox.next() }).events };
}

test("small files that were fetched together arrive, and the end says how much that was", async () => {
  const { target, events } = await restoreThat(manifest);
  expect((await readFile(join(target, "shards/7.bin"))).equals(stored.bytes.subarray(7_000, 8_000))).toBe(true);
  expect(events).toMatchObject([
    { type: "transfer-ended", direction: "download", state: "done", files: 100, bytes: 100_000, startedBy: "operator" },
    { type: "command-ended", outcome: "done" },
  ]);
});

test("of files that were fetched together the hub is told which ones are damaged", async () => {
  const damaged = structuredClone(manifest);
  for (const index of [40, 90]) {
    const extent = damaged.files[index]?.extents[0];
    if (extent !== undefined) extent.crc32 = "00000000";
  }
  const { events } = await restoreThat(damaged);
  expect(events[0]).toMatchObject({ type: "transfer-ended", state: "failed", fault: { code: "CHECKSUM_MISMATCH" } });
  const [end] = events;
  expect(end?.type === "transfer-ended" ? end.damage?.ranges.map(({ path }) => path) : []).toEqual([
    "shards/40.bin",
    "shards/90.bin",
  ]);
});

import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import type { Command } from "#protocol/wire/commands.ts";
import type { NodeEvent } from "#protocol/wire/reports.ts";
import { systemClock } from "../base/clock.ts";
import { openTrialStore, type TrialStore } from "../testing/trial-store.ts";
import { openCommandMemory, type CommandMemory } from "../hub-link/command-memory.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import { openOutbox, type Outbox } from "../hub-link/outbox.ts";
import { manifestOf, storeFile } from "../testing/stage-stored.ts";
import { createChecker, type Checker } from "./checker.ts";

const MIB = 1024 * 1024;
let store: TrialStore;
let manifest: Manifest;
let state: string;
let memory: CommandMemory;
let outbox: Outbox;
let busy: boolean;
let told: Manifest;

beforeAll(async () => {
  store = await openTrialStore();
  const key = "runs/llama/e000001/aaaaaaaaaaaa/model.safetensors";
  manifest = manifestOf(await storeFile(store, { key, sizeBytes: 4 * MIB, pieceBytes: MIB }));
});
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), "tidemark-check-"));
  memory = await openCommandMemory(join(state, "commands.jsonl"));
  outbox = await openOutbox(join(state, "outbox.jsonl"), () => 1);
  busy = false;
  told = manifest;
});
afterEach(async () => {
  await store.disarm();
  await Promise.all([memory.close(), outbox.close()]);
  await rm(state, { recursive: true, force: true });
});
afterAll(() => store.close());

const order = (kind: "verify" | "drill"): Command => ({
  kind,
  id: `command-${kind}`,
  transferId: `transfer-${kind}`,
  checkpointId: manifest.id,
  run: manifest.run,
  step: manifest.step,
});

/** Runs a checker until `until` is true of it; as a worker does that is killed then. */
async function live(until: (checker: Checker) => boolean): Promise<void> {
  const stop = new AbortController();
  const engine = store.engine({ connections: 2 });
  const checker = createChecker({
    memory,
    outbox,
    hub: createFakeHub({ readCheckpoint: () => ({ manifest: told, sha256: "" }) }),
    clock: systemClock,
    state,
    engine: () => engine,
    signal: stop.signal,
    isBusy: () => busy,
    isHeld: () => false,
    onStart: () => undefined,
    onEnd: () => undefined,
  });
  const running = checker.run();
  while (!until(checker)) await systemClock.sleep(5);
  stop.abort();
  await running;
}

const ended = () =>
  outbox
    .next()
    .filter((event): event is Extract<NodeEvent, { type: "transfer-ended" }> => event.type === "transfer-ended");
const isOver = () => outbox.next().some(({ type }) => type === "command-ended");
const damaged = (index: number): Manifest => {
  const wrong = structuredClone(manifest);
  const extent = wrong.files[0]?.extents[index];
  if (extent !== undefined) extent.crc32 = "00000000";
  return wrong;
};
const reads = async () => (await store.count("GetObject")).reduce((sum, { requests }) => sum + requests, 0);

test("reads all of it back, says that it is right, and leaves nothing on the disk", async () => {
  await memory.accept(order("verify"), 1);
  await live(isOver);
  expect(ended()).toMatchObject([
    { direction: "verify", state: "done", bytes: 4 * MIB, files: 2, sentBytes: 4 * MIB, fault: null },
  ]);
  expect(ended()[0]).not.toHaveProperty("damage");
  expect(outbox.next().at(-1)).toMatchObject({ type: "command-ended", commandId: "command-verify", outcome: "done" });
  expect(await readdir(join(state, "verifies"))).toEqual([]);
});

test("says which bytes of which file are damaged, after all the others were read too", async () => {
  told = damaged(1);
  const extent = told.files[0]?.extents[2];
  if (extent !== undefined) extent.crc32 = "00000000";
  await memory.accept(order("verify"), 1);
  await live(isOver);
  const [end] = ended();
  expect(end).toMatchObject({
    state: "failed",
    fault: { code: "CHECKPOINT_DAMAGED" },
    damage: { ranges: [{ path: "deep/model.safetensors", from: MIB, to: 3 * MIB - 1 }], more: 0 },
  });
  expect(end?.bytes).toBe(4 * MIB);
});

test("an object that is gone is damage; a store that does not answer is not", async () => {
  await store.arm({ op: "GetObject", times: 2, action: { kind: "error", status: 503, code: "SlowDown" } });
  told = structuredClone(manifest);
  for (const extent of told.files[0]?.extents ?? []) extent.key += ".gone";
  await memory.accept(order("verify"), 1);
  await live(isOver);
  expect(ended()).toMatchObject([
    { damage: { ranges: [{ from: 0, to: 4 * MIB - 1, fault: { code: "NO_SUCH_KEY" } }], more: 0 } },
  ]);
});

test("killed in the middle it goes on with what it has not read yet", async () => {
  await memory.accept(order("verify"), 1);
  await live((checker) => (checker.progress()[0]?.bytesDone ?? 0) >= 2 * MIB);
  expect(ended()).toEqual([]);
  await memory.close();
  memory = await openCommandMemory(join(state, "commands.jsonl"));
  await live(isOver);
  const [end] = ended();
  expect(end).toMatchObject({ state: "done" });
  expect(end?.sentBytes).toBeLessThanOrEqual(2 * MIB);
});

test("waits as long as the node has something of its own to move, and stops when that begins", async () => {
  busy = true;
  await memory.accept(order("verify"), 1);
  const before = await reads();
  let looks = 0;
  await live(() => ++looks > 50);
  expect(await reads()).toBe(before);
  busy = false;
  await store.arm({ op: "GetObject", action: { kind: "stall", side: "response", afterBytes: 1_000 } });
  let wasRunning = false;
  await live((checker) => {
    const at = checker.progress()[0]?.state;
    if (at === "running") {
      wasRunning = true;
      busy = true;
    }
    return wasRunning && at === "waiting";
  });
  expect(ended()).toEqual([]);
});

test("a person may pause it, let it go on, and cancel it", async () => {
  busy = true;
  await memory.accept(order("verify"), 1);
  const steered: Promise<void>[] = [];
  await live((checker) => {
    if (steered.length === 0) {
      const done = checker
        .steer("transfer-verify", "pause")
        .then(() => checker.steer("transfer-verify", "resume"))
        .then(() => checker.steer("transfer-verify", "cancel"));
      steered.push(done);
    }
    return memory.checks()[0]?.ended === true;
  });
  await Promise.all(steered);
  expect(ended()).toMatchObject([{ state: "cancelled" }]);
  expect(memory.checks()[0]?.ended).toBe(true);
});

test("a drill restores into a folder of the worker's own and removes it", async () => {
  await memory.accept(order("drill"), 1);
  await live(isOver);
  expect(ended()).toMatchObject([{ direction: "drill", state: "done", bytes: 4 * MIB }]);
  expect(await readdir(join(state, "drills"))).toEqual([]);
});

test("a drill of a damaged checkpoint fails, says what is damaged, and leaves nothing", async () => {
  told = damaged(0);
  await memory.accept(order("drill"), 1);
  await live(isOver);
  expect(ended()).toMatchObject([
    { state: "failed", fault: { code: "CHECKSUM_MISMATCH" }, damage: { ranges: [{ path: "deep/model.safetensors" }] } },
  ]);
  expect(await readdir(join(state, "drills"))).toEqual([]);
});

import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runName } from "#protocol/names.ts";
import { DEFAULT_PACKING } from "#protocol/packing.ts";
import { traitsOf } from "#storage/providers.ts";
import { createFakeHub } from "../link/fake-hub.ts";
import { openOutbox, type Outbox } from "../link/outbox.ts";
import { keepCapturing } from "./keep-capturing.ts";
import { openLedger, type Ledger } from "./ledger.ts";
import { createRuns } from "./runs.ts";

const run = runName.parse("llama");
let folder: string;
let watched: string;
let outbox: Outbox;
let ledger: Ledger;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-capturing-"));
  watched = join(folder, "watched");
  outbox = await openOutbox(join(folder, "outbox.jsonl"), Date.now);
  ledger = await openLedger(join(folder, "ledger.jsonl"), Date.now);
});
afterEach(async () => {
  await Promise.all([outbox.close(), ledger.close()]);
  await rm(folder, { recursive: true, force: true });
});

async function write(step: number, file = "model.safetensors"): Promise<void> {
  const path = join(watched, `checkpoint-${step}`);
  await mkdir(path, { recursive: true });
  await writeFile(join(path, file), `step ${step}`);
  await utimes(join(path, file), 1_700_000_000, 1_700_000_000);
}

/** Captures what is there until something was captured, by a clock that is a day ahead: everything is old enough. */
async function captureOnce(): Promise<void> {
  const stop = new AbortController();
  await keepCapturing({
    watch: { folder: watched, run, takes: null },
    settleMs: 10,
    ledger,
    runs: createRuns([run], { hub: createFakeHub({}), onOver: () => undefined }),
    outbox,
    captures: join(folder, "captures"),
    traits: () => traitsOf("minio"),
    partBytes: null,
    packing: () => DEFAULT_PACKING,
    disk: { withRoom: (_, copy) => copy() },
    signal: new AbortController().signal,
    until: stop.signal,
    over: () => null,
    wallNow: () => Date.now() + 86_400_000,
    onSeen: () => undefined,
    onCaptured: () => setTimeout(() => stop.abort(), 20),
    onPassedOver: () => undefined,
    onRefused: () => undefined,
    onFault: (fault) => {
      throw fault;
    },
  });
}

test("of several finished at the same look the newest is captured, and the others are in the history as superseded", async () => {
  for (const step of [100, 200, 300]) await write(step);
  await captureOnce();
  expect(ledger.all().map(({ step }) => step)).toEqual([300]);
  const told = outbox.next().map((event) => (event.type === "transfer-ended" ? [event.step, event.state] : event.type));
  expect(told).toEqual([
    [100, "superseded"],
    [200, "superseded"],
  ]);
});

test("when the newest cannot be taken, the one before it is not passed over for it", async () => {
  await write(100);
  await write(200);
  await write(300, "a\\b.safetensors");
  await captureOnce();
  expect(ledger.all().map(({ step }) => step)).toEqual([200]);
  expect(outbox.next().map(({ type }) => type)).toEqual(["capture-refused", "transfer-ended"]);
});

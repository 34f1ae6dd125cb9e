import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import type { HubFeature } from "#protocol/wire/hello.ts";
import { runName, type RunName } from "#protocol/base/names.ts";
import { DEFAULT_PACKING } from "#protocol/checkpoint/packing.ts";
import type { NodeEvent } from "#protocol/wire/reports.ts";
import { systemClock } from "../base/clock.ts";
import { openTrialStore, type TrialStore } from "./trial-store.ts";
import { createFakeHub } from "./fake-hub.ts";
import { openOutbox, type Outbox } from "../hub-link/outbox.ts";
import type { Capture } from "../capture/capture.ts";
import { openLedger } from "../capture/ledger.ts";
import { lookAt } from "../capture/detection/look.ts";
import { createRuns } from "../capture/runs.ts";
import { takeSnapshot } from "../capture/snapshot.ts";
import { createUploader } from "../upload/uploader.ts";

const run = runName.parse("llama");

async function openUploaderTrial(store: TrialStore) {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-uploader-"));
  const outbox = await openOutbox(join(folder, "outbox.jsonl"), Date.now);
  let ledger = await openLedger(join(folder, "ledger.jsonl"), Date.now);
  let stop = new AbortController();
  const ends: { state: string; step: number }[] = [];
  const waits: string[] = [];
  let told = 0;
  const features = new Set<HubFeature>();
  let aheadMs = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + aheadMs };

  async function capture(
    step: number,
    given: { run?: RunName; bytes?: number; epoch?: number } = {},
  ): Promise<Capture> {
    const about = { run, bytes: 11_000_000, epoch: null, ...given };
    const path = join(folder, `checkpoint-${step}`);
    await mkdir(path);
    await writeFile(join(path, "model.bin"), randomBytes(about.bytes));
    await writeFile(join(path, "empty"), "");
    const look = await lookAt({ path, kind: "folder" });
    if (look === null) throw new Error("the checkpoint is gone");
    const taken = await takeSnapshot({
      candidate: { path, name: `checkpoint-${step}`, step, kind: "folder" },
      look,
      run: about.run,
      epoch: about.epoch,
      captures: join(folder, "captures"),
      traits: store.access.traits,
      partBytes: 5 * 1024 * 1024,
      packing: DEFAULT_PACKING,
      startedBy: "queue",
      wallNow: Date.now,
    });
    await ledger.add({ ...taken, capturedAt: step }, look.fingerprint);
    return taken;
  }

  /** Starts an uploader and stops it once `isOver` returns true after an end or a wait. */
  async function work(answers: Parameters<typeof createFakeHub>[0], isOver: () => boolean, engine = store.engine()) {
    stop = new AbortController();
    const claim = { epoch: 3, parent: null, newest: null };
    const hub = createFakeHub({
      claimEpoch: () => claim,
      announce: () => ({ ok: true }),
      commit: () => ({ sha256: "" }),
      ...answers,
    });
    const runs = createRuns([run], { hub, onOver: () => undefined });
    const profile = { profileId: "profile-id-1", profileName: "p", bucket: "trial", prefix: "team/" };
    const storeSession = {
      engine,
      store: { ...profile, endpoint: store.access.endpoint, traits: store.access.traits },
    };
    const check = () => isOver() && stop.abort(new Fault("CANCELLED"));
    // An end counts once it is in the outbox, because earlier steps may still need the store.
    const add: Outbox["add"] = async (event) => {
      await outbox.add(event);
      if (event.type === "transfer-ended") told += 1;
      check();
    };
    const uploader = createUploader({
      ledger,
      runs,
      hub,
      outbox: { add },
      clock,
      wallNow: Date.now,
      journals: join(folder, "uploads"),
      node: () => ({ id: "node-id-1", name: "gpu-1" }),
      storeSession: () => storeSession,
      hubKnows: (feature) => features.has(feature),
      signal: stop.signal,
      onEnd: ({ state, step }) => void ends.push({ state, step }),
      onSent: () => undefined,
      onWaiting: (fault) => {
        waits.push(fault.code);
        check();
      },
    });
    return { hub, runs, uploader, done: uploader.run() };
  }

  return {
    run,
    folder,
    outbox,
    /** The ledger of the first start. */
    ledger,
    /** Reads the ledger again, as the next start of a worker does. */
    restart: async () => {
      await ledger.close();
      ledger = await openLedger(join(folder, "ledger.jsonl"), Date.now);
    },
    /** Returns the controller that stops the last start. */
    stop: () => stop,
    /** Moves the clock of every uploader. */
    advance: (ms: number) => {
      aheadMs += ms;
    },
    ends,
    waits,
    /** Features of the hub beyond the first version of the protocol. */
    features,
    /** Returns the events that the hub has not been told yet. */
    news: (): readonly NodeEvent[] => outbox.next(),
    /** Captures a checkpoint of this step, with one large file and an empty one. */
    capture,
    work,
    /** Returns a check whether this many uploads have ended and the outbox has them. */
    ended: (count: number) => () => told >= count,
    close: async () => {
      await Promise.all([outbox.close(), ledger.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Fixtures {
  $file: { store: TrialStore };
  $test: { trial: Awaited<ReturnType<typeof openUploaderTrial>> };
}

/** A test of an uploader with a real store, ledger and outbox, and a hub with given answers. */
export const uploaderTest = test.extend<Fixtures>({
  store: [
    // oxlint-disable-next-line no-empty-pattern -- what a fixture asks for is read from its parameter
    async ({}, provide) => {
      const store = await openTrialStore();
      await provide(store);
      await store.close();
    },
    { scope: "file" },
  ],
  trial: async ({ store }, provide) => {
    const trial = await openUploaderTrial(store);
    await provide(trial);
    await store.disarm();
    await trial.close();
  },
});

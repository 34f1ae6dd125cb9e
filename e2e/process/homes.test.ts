import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName, type RunName } from "#protocol/base/names.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { addProfile } from "../stage/provision.ts";
import { startStore, type RunningStore } from "../stage/start-store.ts";
import { armFault, clearFaults, readCounters, resetCounters } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";

const run = runName.parse("two-homes");
const MIB = 1024 * 1024;
/** Several checkpoints in a row, with a bucket that has to be found out of reach first. */
const LONG_MS = 400_000;
const control = "stage-control-token";
let stage: Stage;
let far: RunningStore;
let second: string;
const hashes = new Map<number, Record<string, string>>();

beforeAll(async () => {
  stage = await openStage();
  far = await startStore({ dataDir: join(stage.dir, "far"), control });
  second = await addProfile(stage.client, { name: "far bucket", store: far });
  await stage.startNode({ name: "gpu-1", run, flags: ["--part-size", "5MiB"] });
  save(100);
  await waitUntil("step 100 is complete", () => checkpointAt(100));
  await stage.client.homes.set.mutate({ run, profileIds: [stage.profileId, second], copies: null });
});
afterAll(async () => {
  const { store } = stage;
  await stage.close();
  // One of them may have been started again.
  await Promise.all([store.stop(), far.stop()]);
}, LONG_MS);

function save(step: number): void {
  const about = { folder: stage.folderOf("gpu-1"), step, modelBytes: 24 * MIB, optimizerBytes: MIB, loss: 1 };
  hashes.set(step, hashFolder(writeCheckpoint(about)));
}

const checkpointAt = async (step: number) => {
  const { checkpoints } = await stage.client.runs.get.query({ run });
  return checkpoints.find((one) => one.step === step && one.state === "complete");
};

const view = async (step: number) => {
  const row = await waitUntil(`step ${step} is complete`, () => checkpointAt(step));
  return stage.client.checkpoints.get.query({ id: row.id });
};

const copied = (step: number) =>
  waitUntil(`step ${step} lies in both homes`, async () => {
    const { copies } = await view(step);
    return copies.length === 2 && copies.every(({ state }) => state === "complete") ? copies : undefined;
  });

/** The transfers that copied a step, once each has ended: a copy is in the ledger a moment before its node says so. */
const endedCopies = (of: RunName, step: number) =>
  waitUntil("its copies have ended", async () => {
    const page = { nodeId: null, run: of, states: [], cursor: null, limit: 50 };
    const { rows } = await stage.client.transfers.list.query(page);
    const copies = rows.filter((row) => row.direction === "copy" && row.step === step);
    return copies.length > 0 && copies.every(({ endedAt }) => endedAt !== null) ? copies : undefined;
  });

async function restoreOn(nodeName: string, step: number): Promise<{ folder: string; state: string }> {
  const node = await waitUntil(`${nodeName} is online`, async () =>
    (await stage.client.nodes.list.query()).find(({ name, state }) => name === nodeName && state === "online"),
  );
  const folder = join(stage.dir, "restored", crypto.randomUUID());
  const { transferId } = await stage.client.restores.create.mutate({
    requestId: crypto.randomUUID(),
    checkpointId: (await view(step)).id,
    nodeId: node.id,
    targetPath: folder,
  });
  const state = await waitUntil("the restore ends", async () => {
    const { restores } = await view(step);
    const row = restores.find(({ id }) => id === transferId);
    return row?.state === "done" || row?.state === "failed" ? row.state : undefined;
  });
  return { folder, state };
}

test(
  "what is safe in one home is copied to the other by the node that wrote it, and nothing of it stays on its disk",
  async () => {
    save(200);
    const copies = await copied(200);
    expect(copies.map(({ isFirst }) => isFirst)).toEqual([true, false]);
    expect(await endedCopies(run, 200)).toMatchObject([{ state: "done" }]);
    const captures = join(stage.dir, "nodes", "gpu-1", "state", "captures");
    await waitUntil("its files are gone", () => Promise.resolve(readdirSync(captures).length === 0 ? true : undefined));
  },
  LONG_MS,
);

test(
  "a bucket that goes down in the middle of an upload does not stop saving, and is caught up when it is back",
  async () => {
    const near = stage.store;
    // However late the store is killed, it is in the middle of it.
    for (const store of [near, far]) {
      await armFault(store, { op: "UploadPart", action: { kind: "stall", side: "request" } });
      await resetCounters(store);
    }
    save(300);
    const down = await waitUntil("parts are on their way", async () => {
      for (const store of [near, far]) if ((await readCounters(store, "UploadPart")).inFlight > 0) return store;
      return undefined;
    });
    const up = down === near ? far : near;
    await down.stop("SIGKILL");
    await clearFaults(up);
    const { copies, profileId } = await view(300);
    // A copy to the store that is down may have begun.
    expect(copies.filter(({ state }) => state === "complete")).toHaveLength(1);
    expect(profileId).toBe(up === far ? second : stage.profileId);
    const kinds = async () =>
      (
        await stage.client.events.list.query({
          nodeId: null,
          run: null,
          kinds: ["home-away", "home-back"],
          cursor: null,
          limit: 50,
        })
      ).rows
        .map(({ kind }) => kind)
        .toReversed();
    await waitUntil("it is said", async () => (await kinds()).length > 0);
    const { homes } = await stage.client.homes.get.query({ run });
    expect(homes.find(({ profileId: id }) => id !== profileId)?.away).toMatchObject({ nodes: 1 });
    // What comes meanwhile goes to the one that is there, without a try at the other.
    save(400);
    expect((await view(400)).profileId).toBe(profileId);
    const again = await startStore({
      dataDir: join(stage.dir, down === near ? "store" : "far"),
      control,
      port: down.port,
    });
    if (down === near) stage.store = again;
    else far = again;
    expect(up.port).not.toBe(down.port);
    await copied(400);
    await waitUntil("it is said to be back", async () => (await kinds()).length > 1);
    expect(await kinds()).toEqual(["home-away", "home-back"]);
  },
  LONG_MS,
);

test(
  "a restore goes on with the other copy when the first is damaged, and the checkpoint stays sound",
  async () => {
    await copied(400);
    await stage.startNode({ name: "gpu-2", run: "another-run" });
    const before = await view(400);
    const stores = [stage.store, far];
    const first = before.copies[0];
    const damaged = first?.profileId === second ? far : stage.store;
    await armFault(damaged, {
      op: "GetObject",
      keyPattern: "*.safetensors",
      action: { kind: "flip", side: "response", offset: 100 },
    });
    await Promise.all(stores.map(resetCounters));
    const { folder, state } = await restoreOn("gpu-2", 400);
    expect(state).toBe("done");
    expect(hashFolder(folder)).toEqual(hashes.get(400));
    const after = await view(400);
    expect(after.damage).toBeNull();
    expect(after.profileId).not.toBe(before.profileId);
    expect(after.copies.map(({ isFirst, damagedAt }) => ({ isFirst, isDamaged: damagedAt !== null }))).toEqual([
      { isFirst: true, isDamaged: false },
      { isFirst: false, isDamaged: true },
    ]);
    await clearFaults(damaged);
  },
  LONG_MS,
);

test(
  "a bucket that this node found to be slow is avoided, for saving and for restoring",
  async () => {
    // Its history is made of what moved: a slow bucket makes slow transfers.
    const slow = stage.store;
    await armFault(slow, { op: "UploadPart", action: { kind: "delay", ms: 3_000 } });
    for (const step of [500, 600, 700, 800]) {
      save(step);
      await copied(step);
    }
    save(900);
    expect((await view(900)).profileId).toBe(second);
    await copied(900);
    await resetCounters(slow);
    const { folder } = await restoreOn("gpu-1", 900);
    expect(hashFolder(folder)).toEqual(hashes.get(900));
    expect((await readCounters(slow, "GetObject")).requests).toBe(0);
  },
  LONG_MS,
);

test(
  "what the node that wrote it did not copy an idle node does, when that one is gone",
  async () => {
    await clearFaults(stage.store);
    const alone = runName.parse("left-behind");
    const writer = await stage.startNode({ name: "gpu-3", run: alone, flags: ["--part-size", "5MiB"] });
    const about = { folder: stage.folderOf("gpu-3"), step: 10, modelBytes: 12 * MIB, optimizerBytes: MIB, loss: 1 };
    hashFolder(writeCheckpoint(about));
    const newest = await waitUntil(
      "it is complete",
      async () => (await stage.client.runs.list.query()).find(({ name }) => name === alone)?.newestCheckpointId,
    );
    await writer.stop();
    await stage.client.homes.set.mutate({ run: alone, profileIds: [stage.profileId, second], copies: null });
    const copies = await waitUntil("it lies in both homes", async () => {
      const { copies: all } = await stage.client.checkpoints.get.query({ id: newest });
      return all.length === 2 && all.every(({ state }) => state === "complete") ? all : undefined;
    });
    expect(copies.map(({ profileId }) => profileId)).toEqual([stage.profileId, second]);
    const made = await endedCopies(alone, 10);
    expect(made.map(({ nodeName, state }) => ({ nodeName, state }))).toEqual([
      { nodeName: expect.stringMatching(/^gpu-[12]$/) as string, state: "done" },
    ]);
  },
  LONG_MS,
);

test(
  "a bucket that goes away in the middle of a restore is left for the other one",
  async () => {
    await copied(900);
    const stores = [stage.store, far];
    for (const store of stores) {
      await armFault(store, { op: "GetObject", action: { kind: "delay", ms: 3_000 } });
      await resetCounters(store);
    }
    const restored = restoreOn("gpu-2", 900);
    const down = await waitUntil("it reads", async () => {
      for (const store of stores) if ((await readCounters(store, "GetObject")).inFlight > 0) return store;
      return undefined;
    });
    await down.stop("SIGKILL");
    for (const store of stores) if (store !== down) await clearFaults(store);
    const { folder, state } = await restored;
    expect(state).toBe("done");
    expect(hashFolder(folder)).toEqual(hashes.get(900));
    // A bucket that is out of reach says nothing about the bytes in it.
    expect((await view(900)).copies.map(({ damagedAt }) => damagedAt)).toEqual([null, null]);
  },
  LONG_MS,
);

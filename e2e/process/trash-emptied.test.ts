import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { manifest } from "#protocol/checkpoint/checkpoint.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { runName } from "#protocol/base/names.ts";
import { createControlClient } from "#storage/s3/client.ts";
import { listObjects } from "#storage/s3/listing.ts";
import { getObjectText } from "#storage/s3/objects.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { armFault, clearFaults, readFaults } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";

/** The trash is emptied by a real hub that is killed in the middle, at each step of it. */

const run = runName.parse("emptied");
const KIB = 1024;
const DAY_MS = 86_400_000;
let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ hub: { env: { TIDEMARK_KEEPING_EVERY: "1s" } } });
});
afterAll(() => stage.close());

function bucket() {
  const { endpoint, accessKey, secretKey, bucket: name } = stage.store;
  const at = { endpoint, region: "us-east-1", bucket: name, addressing: "path", traits: traitsOf("minio") } as const;
  return createControlClient({ access: at, credential: { accessKeyId: accessKey, secretAccessKey: secretKey } });
}

async function listKeys(): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of listObjects(bucket(), { bucket: stage.store.bucket, prefix: "" })) keys.push(key);
  return keys;
}

/** Keys that a manifest in the bucket names and that are not there: a checkpoint that promises what is gone. */
async function brokenPromises(): Promise<string[]> {
  const keys = await listKeys();
  const missing: string[] = [];
  for (const key of keys.filter((one) => /(^|\/)manifests\//.test(one))) {
    // What the hub asked for before it was killed may be done in this very moment: what is gone promises nothing.
    const found = await getObjectText(bucket(), { bucket: stage.store.bucket, key, maxBytes: 1_000_000 }).catch(
      (error: unknown) => {
        if (isFault(error) && error.code === "NO_SUCH_KEY") return null;
        throw error;
      },
    );
    if (found === null) continue;
    const { text } = found;
    const named = manifest.parse(JSON.parse(text)).files.flatMap(({ extents }) => extents.map((one) => one.key));
    missing.push(...named.filter((one) => !keys.includes(one)));
  }
  return missing;
}

const rows = async (state: string) =>
  (await stage.client.runs.get.query({ run })).checkpoints.filter((one) => one.state === state);

/** Days pass for a checkpoint in the trash, while no hub runs. */
function age(checkpointId: string): void {
  const db = new DatabaseSync(join(stage.dir, "hub", "hub.db"));
  const past = (value: unknown): string | number => {
    const at = (typeof value === "number" ? value : Date.parse(String(value))) - 9 * DAY_MS;
    return typeof value === "number" ? at : new Date(at).toISOString().replace("Z", "+00:00");
  };
  const one = db.prepare('SELECT "committedAt" AS at FROM "Checkpoint" WHERE "id" = ?').get(checkpointId);
  db.prepare('UPDATE "Checkpoint" SET "committedAt" = ? WHERE "id" = ?').run(past(one?.["at"]), checkpointId);
  const trash = db.prepare(`SELECT "until" AS at FROM "KeepRecord" WHERE "checkpointId" = ?`).get(checkpointId);
  db.prepare('UPDATE "KeepRecord" SET "until" = ? WHERE "checkpointId" = ?').run(past(trash?.["at"]), checkpointId);
  db.close();
}

/** Where the hub is when it is killed: what the store does to one of its deletions. */
const POINTS = [
  { at: "before the manifest is gone", keyPattern: "*manifests/*", action: { kind: "delay", ms: 5_000 } },
  { at: "when the manifest is gone and the hub does not know", keyPattern: "*manifests/*", action: { kind: "stall" } },
  {
    at: "in the middle of the data",
    keyPattern: "*runs/*/optimizer.safetensors",
    action: { kind: "delay", ms: 5_000 },
  },
] as const;

test("a hub that is killed while it empties the trash goes on after its return, and nothing else is touched", async () => {
  const worker = await stage.startNode({ name: "gpu-1", run, flags: ["--settle", "100ms"] });
  let last = "";
  for (const step of [100, 200, 300, 400]) {
    const shape = { modelBytes: 64 * KIB, optimizerBytes: 64 * KIB, loss: 1 };
    last = writeCheckpoint({ folder: stage.folderOf("gpu-1"), step, ...shape });
    await waitUntil(`step ${step} is safe`, async () => (await rows("complete")).some((one) => one.step === step));
  }
  await worker.stop();
  for (const { at, ...rule } of POINTS) {
    const oldest = (await rows("complete")).at(-1);
    if (oldest === undefined) throw new Error("no checkpoint is left");
    const { attempt } = await stage.client.checkpoints.get.query({ id: oldest.id });
    await stage.client.checkpoints.trash.mutate({ id: oldest.id });
    const before = await listKeys();
    const isOwn = (key: string) => key.includes(attempt) || (/(^|\/)manifests\//.test(key) && key.includes(oldest.id));
    expect(before.filter(isOwn).length, at).toBeGreaterThan(3);

    await stage.hub.stop();
    age(oldest.id);
    await armFault(stage.store, { op: "DeleteObject", ...rule });
    await stage.startHubAgain();
    await waitUntil(`the hub is ${at}`, async () => (await readFaults(stage.store)).some(({ fired }) => fired > 0));
    await stage.killHub();
    expect(await brokenPromises(), at).toEqual([]);
    await clearFaults(stage.store);

    await stage.startHubAgain();
    await waitUntil("it is emptied", async () => (await rows("trashed")).length === 0);
    expect(await listKeys(), at).toEqual(before.filter((key) => !isOwn(key)));
    await expect(stage.client.checkpoints.get.query({ id: oldest.id })).rejects.toThrow();
  }
  expect((await rows("complete")).map(({ step }) => step)).toEqual([400]);
  expect((await stage.client.keeping.trash.query({ run: null })).length).toBe(0);
  // What is left is whole.
  expect(await brokenPromises()).toEqual([]);
  const [newest] = await rows("complete");
  const { files } = await stage.client.checkpoints.get.query({ id: newest?.id ?? "" });
  expect(files.map(({ path }) => path).toSorted()).toEqual(Object.keys(hashFolder(last)).toSorted());
}, 600_000);

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { sumPlainly, type SummedFile } from "#storage/testing/plain-safetensors.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { armFault, clearFaults, readCounters } from "../stage/store-control.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";

const run = runName.parse("restored");
const MIB = 1024 * 1024;
const node = { name: "gpu-2", run: runName.parse("elsewhere"), flags: ["--limit-down", "16MB", "--concurrency", "4"] };
let stage: Stage;
let original: Record<string, string>;
let model: SummedFile;
let checkpointId: string;

beforeAll(async () => {
  stage = await openStage();
  await stage.startNode({ name: "gpu-1", run, flags: ["--part-size", "5MiB"] });
  const folder = stage.folderOf("gpu-1");
  const written = writeCheckpoint({ folder, step: 500, modelBytes: 96 * MIB, optimizerBytes: 0, loss: 1 });
  original = hashFolder(written);
  model = sumPlainly(readFileSync(join(written, "model.safetensors")));
  const complete = await waitComplete(stage, run);
  checkpointId = complete.id;
});
afterAll(() => stage.close());

/** A folder that is there already, and what is in it. */
function writeOld(name: string): { targetPath: string; old: Record<string, string> } {
  const targetPath = join(stage.dir, name, "checkpoint-500");
  mkdirSync(targetPath, { recursive: true });
  writeFileSync(join(targetPath, "old.txt"), "what was there before");
  return { targetPath, old: hashFolder(targetPath) };
}

const target = () =>
  waitUntil("gpu-2 is online", async () =>
    (await stage.client.nodes.list.query()).find((one) => one.name === node.name && one.state === "online"),
  );

async function askForRestore(targetPath: string): Promise<string> {
  const request = { requestId: crypto.randomUUID(), checkpointId, nodeId: (await target()).id, targetPath };
  const { transferId } = await stage.client.restores.create.mutate(request);
  return transferId;
}

const stateOf = async (transferId: string) => {
  const filter = { nodeId: null, run: null, states: [], cursor: null, limit: 50 };
  const { rows } = await stage.client.transfers.list.query(filter);
  return rows.find((one) => one.id === transferId)?.state;
};
const fetched = async () =>
  (await readCounters(stage.store, "GetObject")).targets.reduce((sum, one) => sum + one.requests, 0);

test("a restore killed five times leaves the old folder as it was, and ends with the right bytes", async () => {
  const { targetPath, old } = writeOld("killed");
  let worker = await stage.startNode(node);
  let before = await fetched();
  const transferId = await askForRestore(targetPath);
  for (let kills = 0; kills < 5; kills++) {
    await waitUntil("the restore fetches", async () => (await fetched()) > before);
    // Any instant will do, so it is chosen by chance.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 700));
    await worker.stop("SIGKILL");
    expect([old, original]).toContainEqual(hashFolder(targetPath));
    before = await fetched();
    worker = await stage.startNode(node);
  }
  await waitUntil("the restore is done", async () => (await stateOf(transferId)) === "done");
  expect(hashFolder(targetPath)).toEqual(original);
  // What was there is not in the bucket: it is kept.
  expect(readdirSync(dirname(targetPath)).toSorted()).toEqual([".set-aside-checkpoint-500", "checkpoint-500"]);
  expect(hashFolder(join(dirname(targetPath), ".set-aside-checkpoint-500"))).toEqual(old);
  await worker.stop();
});

test("a restore of tensors killed three times has nothing under its name until it is whole, and then exactly these", async () => {
  const targetPath = join(stage.dir, "tensors", "some");
  let worker = await stage.startNode(node);
  let before = await fetched();
  const nodeIds = [(await target()).id];
  const choice = { tensors: ["model.layers.[2-9]*"] };
  const { restores } = await stage.client.restores.start.mutate({
    requestId: crypto.randomUUID(),
    checkpointId,
    nodeIds,
    targetPath,
    choice,
  });
  const transferId = restores[0]?.transferId ?? "";
  const isRight = () => {
    const { tensors, metadata } = sumPlainly(readFileSync(join(targetPath, "model.safetensors")));
    expect(metadata).toEqual(model.metadata);
    expect(tensors).toEqual(model.tensors.filter(({ name }) => /^model\.layers\.[2-9]/.test(name)));
  };
  for (let kills = 0; kills < 3; kills++) {
    await waitUntil("the restore fetches", async () => (await fetched()) > before);
    // Any instant will do, so it is chosen by chance.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 700));
    await worker.stop("SIGKILL");
    if (existsSync(targetPath)) isRight();
    before = await fetched();
    worker = await stage.startNode(node);
  }
  await waitUntil("the restore is done", async () => (await stateOf(transferId)) === "done");
  isRight();
  expect(readdirSync(targetPath)).toEqual(["model.safetensors"]);
  expect(readdirSync(dirname(targetPath))).toEqual(["some"]);
  await worker.stop();
});

test("a restore that fails leaves the folder that was there, and nothing beside it", async () => {
  const { targetPath, old } = writeOld("refused");
  const worker = await stage.startNode(node);
  await armFault(stage.store, {
    op: "GetObject",
    attempt: 2,
    action: { kind: "error", status: 403, code: "AccessDenied" },
  });
  const transferId = await askForRestore(targetPath);
  await waitUntil("the restore fails", async () => (await stateOf(transferId)) === "failed");
  await clearFaults(stage.store);
  expect(hashFolder(targetPath)).toEqual(old);
  expect(readdirSync(dirname(targetPath))).toEqual(["checkpoint-500"]);
  await worker.stop();
});

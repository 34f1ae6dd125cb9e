import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { sumPlainly } from "#storage/testing/plain-safetensors.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { armFault, clearFaults, readCounters } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";
import { testedWorker } from "../stage/start-worker.ts";

const run = runName.parse("checked");
const MIB = 1024 * 1024;
const reader = { name: "gpu-2", run: runName.parse("elsewhere"), flags: ["--limit-down", "16MB"] };
const filesOf = new Map<number, Record<string, string>>();
let stage: Stage;
let newestId: string;

beforeAll(async () => {
  stage = await openStage();
  await stage.startNode({ name: "gpu-1", run, flags: ["--part-size", "5MiB"] });
  const folder = stage.folderOf("gpu-1");
  for (const step of [400, 500]) {
    filesOf.set(
      step,
      hashFolder(writeCheckpoint({ folder, step, modelBytes: 48 * MIB, optimizerBytes: MIB, loss: 1 })),
    );
    await waitUntil(`step ${step} is complete`, async () =>
      (await stage.client.runs.list.query()).some((one) => one.name === run && one.newestStep === step),
    );
  }
  newestId = (await stage.client.runs.get.query({ run })).newestCheckpointId ?? "";
});
afterAll(() => stage.close());

const fetched = async () =>
  (await readCounters(stage.store, "GetObject")).targets.reduce((sum, one) => sum + one.requests, 0);
const view = () => stage.client.checkpoints.get.query({ id: newestId });
const nodeNamed = (name: string) =>
  waitUntil(`${name} is online`, async () =>
    (await stage.client.nodes.list.query()).find((one) => one.name === name && one.state === "online"),
  );

test("a verification goes on after its worker and its hub were killed, and is one verification", async () => {
  let worker = await stage.startNode(reader);
  const { id: nodeId } = await nodeNamed(reader.name);
  const requestId = crypto.randomUUID();
  let before = await fetched();
  const { transferId } = await stage.client.checkpoints.verify.mutate({ requestId, checkpointId: newestId, nodeId });
  for (let kills = 0; kills < 3; kills++) {
    await waitUntil("it reads", async () => (await fetched()) > before);
    await worker.stop("SIGKILL");
    if (kills === 1) {
      await stage.killHub();
      await stage.startHubAgain();
    }
    before = await fetched();
    worker = await stage.startNode(reader);
  }
  await waitUntil("it is verified", async () => (await view()).verifiedAt !== null);
  const again = await stage.client.checkpoints.verify.mutate({ requestId, checkpointId: newestId, nodeId });
  expect(again).toEqual({ transferId });
  expect((await view()).checks).toMatchObject([{ id: transferId, direction: "verify", state: "done" }]);
  expect(readdirSync(join(stage.dir, "nodes", reader.name, "state", "verifies"))).toEqual([]);
  await worker.stop();
});

test("on its own machine a run is restored in part, files or tensors, tried without writing, and from the step before a damaged one", async () => {
  const env = { TIDEMARK_STATE: join(stage.dir, "nodes", "gpu-1", "state") };
  const ask = async (...args: string[]) => {
    const { stdout } = await runOnce(testedWorker(), ["restore", run, ...args, "--json"], { env });
    return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "{}") as Record<string, unknown>;
  };
  const target = join(stage.dir, "part");
  expect(await ask(target, "--only", "*.json", "--dry-run")).toMatchObject({
    type: "would-restore",
    step: 500,
    preview: { verdict: "ok", there: "nothing" },
  });
  expect(await ask(target, "--only", "*.json")).toMatchObject({ type: "restored", step: 500, passedOver: null });
  const all = Object.entries(filesOf.get(500) ?? {});
  expect(hashFolder(target)).toEqual(Object.fromEntries(all.filter(([path]) => path.endsWith(".json"))));
  // A part takes the place of nothing else.
  expect(await ask(target, "--only", "*.safetensors")).toMatchObject({ type: "fault", code: "TARGET_EXISTS" });

  // Of tensors the file is cut to them. The optimizer has some of the same names.
  const tensors = join(stage.dir, "tensors");
  const some = [
    "--only",
    "model.safetensors",
    "--tensors",
    "model.layers.7.",
    "--tensors",
    "model.layers.{9,11}.weight",
  ];
  expect(await ask(tensors, ...some, "--dry-run")).toMatchObject({
    type: "would-restore",
    preview: { verdict: "ok", files: 1, tensors: 3, tensorBytes: 3 * MIB },
  });
  expect(await ask(tensors, ...some)).toMatchObject({ type: "restored", step: 500 });
  expect(readdirSync(tensors)).toEqual(["model.safetensors"]);
  const whole500 = sumPlainly(readFileSync(join(stage.folderOf("gpu-1"), "checkpoint-500", "model.safetensors")));
  const names = ["7", "9", "11"].map((layer) => `model.layers.${layer}.weight`);
  expect(sumPlainly(readFileSync(join(tensors, "model.safetensors")))).toMatchObject({
    metadata: whole500.metadata,
    tensors: whole500.tensors.filter(({ name }) => names.includes(name)),
  });
  const none = await ask(join(stage.dir, "none"), "--tensors", "model.norm.*");
  expect(none).toMatchObject({ type: "fault", code: "NOT_FOUND", subject: "model.norm.*" });

  const keys = (await readCounters(stage.store, "GetObject")).targets.map(({ key }) => key);
  const attempt = (await view()).attempt;
  const damaged = keys.find((key) => key.includes(attempt) && key.endsWith(".safetensors")) ?? "";
  await armFault(stage.store, {
    op: "GetObject",
    keyPattern: damaged,
    action: { kind: "flip", side: "response", offset: 1_000 },
  });
  const whole = join(stage.dir, "whole");
  expect(await ask(whole)).toMatchObject({ type: "restored", step: 400, passedOver: 500 });
  expect(hashFolder(whole)).toEqual(filesOf.get(400));
  expect((await view()).damage).toMatchObject({ ranges: [{ path: "model.safetensors" }] });
  await clearFaults(stage.store);
});

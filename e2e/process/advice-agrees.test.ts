import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { armFault, clearFaults } from "../stage/store-control.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

/** A node died after its newest checkpoint was found damaged: all surfaces name the same step to continue from. */

const run = runName.parse("llama");
let stage: Stage;
const told: { kind: string; todo: string }[] = [];
const receiver = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    told.push(JSON.parse(Buffer.concat(chunks).toString("utf8")) as { kind: string; todo: string });
    response.end();
  });
});
beforeAll(async () => {
  stage = await openStage();
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
});
afterAll(async () => {
  receiver.close();
  await stage.close();
});

test("the message, the API and tidemark status name the step before the damaged one", async () => {
  const address = receiver.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const secret = { url: `http://127.0.0.1:${port}/hook`, key: "a-signing-key-of-some-length" };
  const { alerts } = stage.client;
  const { id } = await alerts.channels.create.mutate({ channel: { name: "hook", kind: "webhook" }, secret });
  const condition = { kind: "silent" as const, longerThanMs: 30_000 };
  await alerts.rules.create.mutate({ rule: { name: "silent", condition, channelIds: [id] } });

  const node = await stage.startNode({ name: "gpu-1", run });
  const save = async (step: number) => {
    const about = { folder: stage.folderOf("gpu-1"), step, modelBytes: 1_000_000, optimizerBytes: 500_000, loss: 1 };
    writeCheckpoint(about);
    return waitComplete(stage, run, { step });
  };
  await save(100);
  const newest = await save(200);
  await armFault(stage.store, {
    op: "GetObject",
    keyPattern: "*.safetensors",
    action: { kind: "flip", side: "response", offset: 100 },
  });
  await stage.client.restores.create.mutate({
    requestId: crypto.randomUUID(),
    checkpointId: newest.id,
    nodeId: newest.nodeId,
    targetPath: join(stage.dir, "restored"),
  });
  await waitUntil("the damage is known", async () => {
    const { damage } = await stage.client.checkpoints.get.query({ id: newest.id });
    return damage !== null;
  });
  await clearFaults(stage.store);

  expect(await node.stop("SIGKILL")).toMatchObject({ signal: "SIGKILL" });
  const message = await waitUntil("the message has come", () => told.find(({ kind }) => kind === "firing"));
  expect(message.todo).toContain("step 100");
  expect(message.todo).not.toContain("step 200");

  const advice = await stage.client.nodes.continueFrom.query({ id: "gpu-1" });
  expect(advice.runs).toMatchObject([{ run, newest: { step: 100, isDamaged: false } }]);
  expect(message.todo).toContain(advice.text);

  const state = join(stage.dir, "nodes", "gpu-1", "state");
  const status = await runOnce(testedWorker(), ["status", "--state", state, "--json"], {});
  expect(status.code).toBe(3);
  expect(JSON.parse(status.stdout.trim().split("\n").at(-1) ?? "")).toMatchObject({
    continueBy: "hub",
    continueFrom: [{ run, newest: { step: 100, isDamaged: false } }],
  });
});

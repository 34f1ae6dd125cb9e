import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { readCounters } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const run = runName.parse("orphaned");
const MIB = 1024 * 1024;

const storedParts = async () =>
  (await readCounters(stage.store, "UploadPart")).targets.filter((one) => one.succeeded > 0).length;

const countSignatures = async () => {
  const text = await (await fetch(`${stage.hub.url}/metrics`)).text();
  return Number(/^\w*signatures_total (\d+)/m.exec(text)?.[1]);
};

test("with the hub killed the upload goes on, and after its return the state is right", async () => {
  await stage.startNode({ name: "gpu-1", run, flags: ["--limit-up", "16MB"] });
  const folder = stage.folderOf("gpu-1");
  const written = writeCheckpoint({ folder, step: 100, modelBytes: 96 * MIB, optimizerBytes: 0, loss: 1 });
  await waitUntil("the upload runs", async () => (await storedParts()) >= 2);

  await stage.killHub();
  const atKill = await storedParts();
  await waitUntil("parts are stored while the hub is away", async () => (await storedParts()) >= atKill + 3);
  writeCheckpoint({ folder, step: 200, modelBytes: 8 * MIB, optimizerBytes: 0, loss: 1 });

  await stage.startHubAgain();
  const complete = await waitUntil("both checkpoints are complete", async () => {
    const { checkpoints } = await stage.client.runs.get.query({ run });
    const done = checkpoints.filter((one) => one.state === "complete");
    return done.length === 2 && done;
  });
  expect(complete.map((one) => one.step)).toEqual([200, 100]);
  const parts = (await readCounters(stage.store, "UploadPart")).targets;
  expect(parts.filter((one) => one.succeeded > 1)).toEqual([]);
  const details = await stage.client.checkpoints.get.query({ id: complete[1]?.id ?? "" });
  expect(details.files.map((file) => file.path).toSorted()).toEqual(Object.keys(hashFolder(written)));
  const node = (await stage.client.nodes.list.query()).find((one) => one.name === "gpu-1");
  expect(node?.state).toBe("online");
});

test("a capture that only waits when the hub is killed is uploaded all the same, and committed after its return", async () => {
  const waiting = runName.parse("waiting");
  await stage.startNode({ name: "gpu-2", run: waiting, flags: ["--limit-up", "12MB"] });
  const folder = stage.folderOf("gpu-2");
  const keysOf = async (operation: string) =>
    new Set(
      (await readCounters(stage.store, operation)).targets
        .filter((one) => one.succeeded > 0 && one.key.includes("/waiting/"))
        .map((one) => one.key),
    );
  writeCheckpoint({ folder, step: 100, modelBytes: 96 * MIB, optimizerBytes: 0, loss: 1 });
  await waitUntil("the first upload moves", async () => (await keysOf("UploadPart")).size === 1);
  const signedBefore = await countSignatures();
  writeCheckpoint({ folder, step: 200, modelBytes: 24 * MIB, optimizerBytes: 0, loss: 1 });
  // One to open the upload; the rest of its parts and of the two small files come in one more call.
  await waitUntil("the second is signed", async () => (await countSignatures()) >= signedBefore + 2);
  expect((await keysOf("CompleteMultipartUpload")).size).toBe(0);

  await stage.killHub();
  await waitUntil("both are complete in the bucket without the hub", async () => {
    return (await keysOf("CompleteMultipartUpload")).size === 2;
  });
  await stage.startHubAgain();
  await waitUntil("both are committed", async () => {
    const { checkpoints } = await stage.client.runs.get.query({ run: waiting });
    return checkpoints.filter((one) => one.state === "complete").length === 2;
  });
});

import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/names.ts";
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

import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { armFault, clearFaults, readCounters } from "../stage/store-control.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const run = runName.parse("killed");
const MIB = 1024 * 1024;
const CONNECTIONS = 4;

test("a worker killed in mid-upload finishes after its restart and does not send stored parts again", async () => {
  const node = { name: "gpu-1", run, flags: ["--limit-up", "24MB", "--concurrency", String(CONNECTIONS)] };
  // However late the kill comes, the upload is not over.
  await armFault(stage.store, { op: "CompleteMultipartUpload", action: { kind: "stall", side: "request" } });
  const worker = await stage.startNode(node);
  writeCheckpoint({ folder: stage.folderOf("gpu-1"), step: 100, modelBytes: 128 * MIB, optimizerBytes: 0, loss: 1 });

  await waitUntil("some parts are stored", async () => {
    const { targets } = await readCounters(stage.store, "UploadPart");
    return targets.filter((one) => one.succeeded > 0).length >= 4;
  });
  await worker.stop("SIGKILL");
  await clearFaults(stage.store);
  const storedAtKill = (await readCounters(stage.store, "UploadPart")).targets.filter((one) => one.succeeded > 0);
  expect(storedAtKill.length).toBeGreaterThanOrEqual(4);
  const state = await stage.client.runs.get.query({ run });
  expect(state.checkpoints[0]?.state).toBe("uploading");

  await stage.startNode(node);
  await waitComplete(stage, run, { step: 100 });
  const after = (await readCounters(stage.store, "UploadPart")).targets;
  expect(after.filter((one) => one.succeeded > 1)).toEqual([]);
  const again = storedAtKill.filter((part) => {
    const now = after.find((one) => one.key === part.key && one.partNumber === part.partNumber);
    return now !== undefined && now.requests > part.requests;
  });
  expect(again).toEqual([]);
  const creates = (await readCounters(stage.store, "CreateMultipartUpload")).targets;
  expect(creates.every((one) => one.requests === 1)).toBe(true);
});

const KILLS = 8;
/** 32 of 5 MiB and the rest that the header of the file makes. */
const PARTS = 33;
const PARTS_A_LIFE = 3;

/** Lets no part from this one on arrive: no life gets further than its share, however late it is killed. */
async function holdFrom(first: number): Promise<void> {
  await clearFaults(stage.store);
  for (let partNumber = first; partNumber <= PARTS; partNumber++) {
    await armFault(stage.store, { op: "UploadPart", partNumber, action: { kind: "stall", side: "request" } });
  }
}

test("killed eight times in one upload, no part that the store has is sent again", async () => {
  const often = runName.parse("killed-often");
  const flags = ["--limit-up", "24MB", "--concurrency", String(CONNECTIONS), "--part-size", "5MiB"];
  const node = { name: "gpu-often", run: often, flags };
  const stored = async () =>
    (await readCounters(stage.store, "UploadPart")).targets.filter(
      (one) => one.succeeded > 0 && one.key.includes("/killed-often/"),
    );
  writeCheckpoint({ folder: stage.folderOf(node.name), step: 100, modelBytes: 160 * MIB, optimizerBytes: 0, loss: 1 });
  for (let kills = 0; kills < KILLS; kills++) {
    const before = await stored();
    await holdFrom(PARTS_A_LIFE * (kills + 1) + 1);
    const worker = await stage.startNode(node);
    const more = 1 + Math.floor(Math.random() * 2);
    await waitUntil("further parts are stored", async () => (await stored()).length >= before.length + more);
    await worker.stop("SIGKILL");
    const { checkpoints } = await stage.client.runs.get.query({ run: often });
    expect(checkpoints[0]?.state).toBe("uploading");
  }
  await clearFaults(stage.store);
  await stage.startNode(node);
  await waitComplete(stage, often, { step: 100 });
  const parts = await stored();
  expect(parts).toHaveLength(PARTS);
  expect(parts.filter((one) => one.succeeded > 1)).toEqual([]);
  const creates = (await readCounters(stage.store, "CreateMultipartUpload")).targets;
  expect(creates.filter((one) => one.requests > 1)).toEqual([]);
});

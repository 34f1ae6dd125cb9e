import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { IMPLEMENTATIONS, stageOver, type Staged, waitSafe } from "../stage/stage-over.ts";
import { armFault, clearFaults, readCounters } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

const run = runName.parse("killed");
const MIB = 1024 * 1024;
const CONNECTIONS = 4;

const KILLS = 8;
/** 32 of 5 MiB and the rest that the header of the file makes. */
const PARTS = 33;
const PARTS_A_LIFE = 3;

describe.each(IMPLEMENTATIONS)("over %s", (implementation) => {
  let staged: Staged;
  beforeAll(async () => {
    staged = await stageOver(implementation);
  });
  afterAll(() => staged.close());

  test("a worker killed in mid-upload finishes after its restart and does not send stored parts again", async () => {
    const node = { name: "gpu-1", run, flags: ["--limit-up", "24MB", "--concurrency", String(CONNECTIONS)] };
    // However late the kill comes, the upload is not over.
    await armFault(staged.store, { op: "CompleteMultipartUpload", action: { kind: "stall", side: "request" } });
    const worker = await staged.startNode(node);
    writeCheckpoint({ folder: staged.folderOf("gpu-1"), step: 100, modelBytes: 128 * MIB, optimizerBytes: 0, loss: 1 });

    await waitUntil("some parts are stored", async () => {
      const { targets } = await readCounters(staged.store, "UploadPart");
      return targets.filter((one) => one.succeeded > 0).length >= 4;
    });
    await worker.stop("SIGKILL");
    await clearFaults(staged.store);
    const storedAtKill = (await readCounters(staged.store, "UploadPart")).targets.filter((one) => one.succeeded > 0);
    expect(storedAtKill.length).toBeGreaterThanOrEqual(4);
    expect(await staged.completeOf(run)).toEqual([]);

    await staged.startNode(node);
    await waitSafe(staged, run, 100);
    const after = (await readCounters(staged.store, "UploadPart")).targets;
    expect(after.filter((one) => one.succeeded > 1)).toEqual([]);
    const again = storedAtKill.filter((part) => {
      const now = after.find((one) => one.key === part.key && one.partNumber === part.partNumber);
      return now !== undefined && now.requests > part.requests;
    });
    expect(again).toEqual([]);
    const creates = (await readCounters(staged.store, "CreateMultipartUpload")).targets;
    expect(creates.every((one) => one.requests === 1)).toBe(true);
  });

  if (implementation !== "hub") return;

  /** Lets no part from this one on arrive: no life gets further than its share, however late it is killed. */
  async function holdFrom(first: number): Promise<void> {
    await clearFaults(staged.store);
    for (let partNumber = first; partNumber <= PARTS; partNumber++) {
      await armFault(staged.store, { op: "UploadPart", partNumber, action: { kind: "stall", side: "request" } });
    }
  }

  test("killed eight times in one upload, no part that the store has is sent again", async () => {
    const often = runName.parse("killed-often");
    const flags = ["--limit-up", "24MB", "--concurrency", String(CONNECTIONS), "--part-size", "5MiB"];
    const node = { name: "gpu-often", run: often, flags };
    const stored = async () =>
      (await readCounters(staged.store, "UploadPart")).targets.filter(
        (one) => one.succeeded > 0 && one.key.includes("/killed-often/"),
      );
    writeCheckpoint({
      folder: staged.folderOf(node.name),
      step: 100,
      modelBytes: 160 * MIB,
      optimizerBytes: 0,
      loss: 1,
    });
    for (let kills = 0; kills < KILLS; kills++) {
      const before = await stored();
      await holdFrom(PARTS_A_LIFE * (kills + 1) + 1);
      const worker = await staged.startNode(node);
      const more = 1 + Math.floor(Math.random() * 2);
      await waitUntil("further parts are stored", async () => (await stored()).length >= before.length + more);
      await worker.stop("SIGKILL");
      const { checkpoints } = await staged.stage().client.runs.get.query({ run: often });
      expect(checkpoints[0]?.state).toBe("uploading");
    }
    await clearFaults(staged.store);
    await staged.startNode(node);
    await waitSafe(staged, often, 100);
    const parts = await stored();
    expect(parts).toHaveLength(PARTS);
    expect(parts.filter((one) => one.succeeded > 1)).toEqual([]);
    const creates = (await readCounters(staged.store, "CreateMultipartUpload")).targets;
    expect(creates.filter((one) => one.requests > 1)).toEqual([]);
  });
});

import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { build } from "../gate/build.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";
import { WORKER_SOURCES } from "../stage/start-worker.ts";

let stage: Stage;
beforeAll(async () => {
  await build("dist/tidemark.mjs");
  stage = await openStage();
});
afterAll(() => stage.close());

const MIB = 1024 * 1024;

/** The worker as it is developed, and as it is delivered. */
const WORKERS = [
  { title: "of the sources", entry: WORKER_SOURCES, names: ["gpu-1", "gpu-2"], run: runName.parse("llama-8b") },
  { title: "in one executable", entry: "dist/tidemark", names: ["gpu-3", "gpu-4"], run: runName.parse("llama-70b") },
] as const;

test.each(WORKERS)(
  "a finished folder becomes a complete checkpoint, and another node gets it back byte for byte, by the worker $title",
  async ({ entry, names, run }) => {
    const [first, second] = names;
    await stage.startNode({ name: first, run, entry });
    const written = writeCheckpoint({
      folder: stage.folderOf(first),
      step: 500,
      modelBytes: 24 * MIB,
      optimizerBytes: 3 * MIB,
      loss: 1.5,
    });
    const original = hashFolder(written);

    const view = await waitComplete(stage, run, { step: 500 });
    expect(view).toMatchObject({ run, nodeName: first, isNewest: true, fileCount: Object.keys(original).length });
    const details = await stage.client.checkpoints.get.query({ id: view.id });
    expect(details.manifestSha256).toMatch(/^[0-9a-f]{64}$/);
    expect(details.files.map((file) => file.path).toSorted()).toEqual(Object.keys(original).toSorted());

    await stage.startNode({ name: second, run: `${run}-other`, entry });
    const node = await waitUntil(`${second} is online`, async () =>
      (await stage.client.nodes.list.query()).find(
        (one) => one.name === second && one.state === "online" && one.disk !== null,
      ),
    );
    const plan = await stage.client.restores.plan.query({ checkpointId: view.id, nodeId: node.id });
    expect(plan.candidates.find((one) => one.nodeId === node.id)?.whyNot).toBeNull();
    const targetPath = join(stage.dir, "restored", run, "checkpoint-500");
    const { transferId } = await stage.client.restores.create.mutate({
      requestId: crypto.randomUUID(),
      checkpointId: view.id,
      nodeId: node.id,
      targetPath,
    });
    await waitUntil("the restore is done", async () => {
      const { rows } = await stage.client.transfers.list.query({
        nodeId: node.id,
        run: null,
        states: [],
        cursor: null,
        limit: 50,
      });
      const row = rows.find((one) => one.id === transferId);
      if (row?.state === "failed") throw new Error(JSON.stringify(row.fault));
      return row?.state === "done";
    });
    expect(hashFolder(targetPath)).toEqual(original);
  },
);

test("only complete checkpoints can be restored", async () => {
  const missing = { requestId: crypto.randomUUID(), checkpointId: crypto.randomUUID(), nodeId: crypto.randomUUID() };
  await expect(stage.client.restores.create.mutate({ ...missing, targetPath: "/tmp/nowhere" })).rejects.toMatchObject({
    data: { fault: { code: "NOT_FOUND" } },
  });
});
